/** The long form of T68: `npm run fuzz -- [seconds] [seed]`, one minute by default. */
import { fuzz } from '../test/support/fuzz.ts';

const [seconds = '60', seed = String(Date.now() % 2 ** 31)] = process.argv.slice(2);
console.log(`fuzzing for ${seconds} s with seed ${seed}`);
const until = performance.now() + Number(seconds) * 1000;
const { rounds, slowestMs, outcomes } = await fuzz({
  seed: Number(seed),
  rounds: Number.POSITIVE_INFINITY,
  until,
});
console.log(`${rounds} rounds, slowest call ${slowestMs.toFixed(1)} ms, no crash`);
for (const [what, count] of outcomes) console.log(`  ${what}: ${count}`);
