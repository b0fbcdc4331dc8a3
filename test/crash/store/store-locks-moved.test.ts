// @module-tag long
import { describe, expect, test } from 'vitest';
import { type DriverProcess, startDriver } from '../../../testing/crash/driver-process.ts';
import { startLoad } from '../../../testing/crash/load.ts';
import { createRandom } from '../../../testing/crash/random.ts';
import { KINDS, type Kind, LOAD, MovedScene } from '../../support/store/moved-scene.ts';
import { must, until } from '../../support/store/store-faults.ts';

const ROUNDS = Number(process.env['REPRISE_CRASH_ROUNDS'] ?? 0);
const SEED = Number(process.env['REPRISE_CRASH_SEED'] ?? 30);

const REMOVALS: readonly [readonly string[], ...(readonly string[])[]] = [
  ['-shm'],
  ['-wal'],
  ['-wal', '-shm'],
];

const CASES = KINDS.flatMap((kind) => REMOVALS.map((suffixes) => ({ kind, suffixes })));

describe('T30d side files removed under two live writers that rest', () => {
  test.each(CASES)(
    '$kind $suffixes: each gets an error, continues beside a third, and nothing is lost',
    async (which) => {
      await using scene = await MovedScene.open(which.kind);
      await scene.fill(30);
      scene.remove(which.suffixes);
      const joining = startDriver(scene.options);
      for (const driver of scene.fleet) {
        await scene.mustTell(driver);
        expect(await driver.send({ op: 'get', id: 's' })).toMatchObject({ ok: true });
      }
      await using third = await joining;
      const message = { op: 'put', key: 'agent:main:third', idempotencyKey: 'm', body: { text: 'hello' } };
      await must(third, message);
      await scene.fill(31, [third, ...scene.fleet]);
      await scene.end('stop', [third, ...scene.fleet]);
      await scene.judge(`${which.suffixes}, told`);
      await using fourth = await startDriver(scene.options);
      expect(await must(fourth, message)).toMatchObject({ fresh: false });
    },
  );

  test.each(KINDS)('%s: killed after the error, they lose nothing', async (kind) => {
    await using scene = await MovedScene.open(kind);
    await scene.fill(32);
    scene.remove(['-wal', '-shm']);
    const answers = await Promise.all(scene.fleet.map((driver) => scene.append(driver)));
    for (const answer of answers) expect(answer).toMatchObject({ code: 'STORE_MOVED', outcome: 'none' });
    await scene.end('kill');
    await scene.judge('-wal,-shm, told, kill');
  });

  test('a process that cannot close keeps all others out, with an error, until it continues', async () => {
    await using scene = await MovedScene.open('sqlite');
    const [active, paused] = scene.fleet as [DriverProcess, DriverProcess];
    await scene.fill(35);
    paused.kill('SIGSTOP');
    scene.remove(['-wal', '-shm']);
    await expect(startDriver(scene.options)).rejects.toMatchObject({ details: { code: 'STORE_MOVED' } });
    expect(await scene.append(active)).toMatchObject({ code: 'STORE_MOVED', outcome: 'none' });
    paused.kill('SIGCONT');
    await until('they go on', async () => (await scene.append(active)).ok && (await scene.append(paused)).ok);
    await scene.end('stop');
    await scene.judge('-wal,-shm, paused');
  });
});

describe('T30d side files removed in the middle of commits', () => {
  async function removeUnderLoad(kind: Kind, seed: number): Promise<void> {
    const random = createRandom(seed);
    await using scene = await MovedScene.open(kind);
    const load = startLoad({ ...LOAD, drivers: scene.fleet, history: scene.history, seed });
    for (let i = 0; i < 8; i++) {
      const goal = load.acknowledged + random.integer(1, 25);
      await until('they go on', () => load.acknowledged >= goal);
      scene.remove(random.pick(REMOVALS));
    }
    // The log on its own is not enough of a copy when both who have it open die, so here one of them may.
    const victim = random.pick([undefined, ...scene.fleet]);
    const others = scene.fleet.filter((driver) => driver !== victim);
    if (victim !== undefined) await scene.end('kill', [victim]);
    await using third = await startDriver(scene.options);
    await scene.fill(seed + 1, [third]);
    await load.stop();
    await scene.end('stop', random.chance(0.5) ? [third, ...others] : [...others, third]);
    await scene.judge(`under load, seed ${seed}, ${others.length} of 2 left`);
  }

  /** The log keeps its name here: both may die at any moment. */
  async function killUnderLoad(kind: Kind, seed: number): Promise<void> {
    const random = createRandom(seed);
    await using scene = await MovedScene.open(kind);
    const load = startLoad({ ...LOAD, drivers: scene.fleet, history: scene.history, seed });
    const goal = random.integer(20, 60);
    await until('they work', () => load.acknowledged >= goal);
    scene.remove(['-shm']);
    if (random.chance(0.5)) await until('they go on', () => load.acknowledged >= goal + random.integer(1, 9));
    await scene.end('kill');
    await load.stop();
    await scene.judge(`-shm, both killed under load, seed ${seed}`);
  }

  const rounds = Math.max(1, ROUNDS);
  const limit = 180_000 * rounds;
  const seeds = Array.from({ length: rounds }, (_, i) => SEED + i * 10);

  test.each(KINDS)(
    '%s: removed again and again, one killed, a third joins: nothing is lost',
    async (kind) => {
      for (const seed of seeds) await removeUnderLoad(kind, seed);
    },
    limit,
  );

  test.each(KINDS)(
    '%s: -shm removed and both killed at once: nothing is lost',
    async (kind) => {
      for (const seed of seeds) await killUnderLoad(kind, seed);
    },
    limit,
  );
});
