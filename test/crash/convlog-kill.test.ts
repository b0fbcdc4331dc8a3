// @module-tag long
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { encodeLogLine } from '../../src/store/rules/convlog-line.ts';
import { startDriver } from '../../testing/crash/driver-process.ts';
import { createRandom } from '../../testing/crash/random.ts';
import { replay } from '../support/engine/replay.ts';
import { say, texts, until, useConvlogHome } from '../support/store/convlog-home.ts';

const ROUNDS = Number(process.env['REPRISE_CRASH_ROUNDS'] ?? 4);
const LONG_MS = 60_000 + ROUNDS * 20_000;
const home = useConvlogHome();

test(
  'a process killed while it logs loses no line it acknowledged and leaves a file that says what the table says',
  async () => {
    const random = createRandom(22);
    const acknowledged: string[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const driver = await startDriver({ store: 'jsonl', home: home.path, durability: 'os' });
      const killAt = random.integer(3, 30);
      for (let i = 0; i < 1000; i++) {
        const content = `${round}.${i} ${'x'.repeat(random.integer(0, 3000))}`;
        const sent = driver.send({ op: 'log', lines: [say(content)] });
        if (i === killAt) driver.kill('SIGKILL');
        // The file follows a tenth of a second later: some are killed before it, some while it is written.
        if (i % 10 === 9) await new Promise((resolve) => setTimeout(resolve, random.integer(0, 120)));
        const { ok } = await sent;
        if (!ok) break;
        acknowledged.push(content);
      }
      await driver.exited;
    }
    const store = await home.open();
    const said = await texts(store);
    expect(said.filter((text) => acknowledged.includes(text))).toEqual(acknowledged);
    expect(new Set(said).size).toBe(said.length);
    expect(acknowledged.length).toBeGreaterThan(ROUNDS);
    await home.close(store);
    expect(home.said()).toEqual(said);
  },
  LONG_MS,
);

test(
  'a process killed while it reads convlogs back says nothing twice',
  async () => {
    const random = createRandom(23);
    const long = Array.from({ length: 30_000 }, (_, i) => `line ${i} ${'x'.repeat(100)}`);
    mkdirSync(dirname(home.file()), { recursive: true });
    const ts = '2025-01-01T00:00:00.000Z';
    writeFileSync(home.file(), long.map((text) => encodeLogLine({ ...say(text), ts })).join(''));
    const bytes = readFileSync(home.file());
    const lines = (): number => Number(home.sql('SELECT count(*) AS n FROM convlog_lines')[0]?.['n']);
    // Again from the beginning where the first one was through before it was killed.
    await replay('a process is killed while it reads', async () => {
      rmSync(join(home.path, 'control.db'), { force: true });
      const read: number[] = [];
      while (read.length < ROUNDS) {
        const goal = Math.min(long.length, (read.at(-1) ?? 0) + random.integer(1, 3000));
        const driver = await startDriver({ store: 'jsonl', home: home.path, durability: 'os' });
        await until('it has read some more', () => lines() >= goal);
        driver.kill('SIGKILL');
        await driver.exited;
        read.push(lines());
        // All of it is read, so no process can be killed while reading any more.
        if (read.at(-1) === long.length) break;
      }
      console.log(`lines read before each kill: ${read.join(', ')}`);
      return Number(read[0]) < long.length;
    });
    const again = await home.open();
    expect(await texts(again)).toEqual(long);
    await home.close(again);
    expect(readFileSync(home.file()).equals(bytes)).toBe(true);
  },
  LONG_MS,
);
