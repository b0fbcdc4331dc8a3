import { readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { type Answer, type DriverProcess, startDriver } from '../../src/testing/crash/driver-process.ts';
import { type Fleet, startFleet } from '../../src/testing/crash/fleet.ts';
import { createHistory, type History } from '../../src/testing/crash/history.ts';
import { startLoad } from '../../src/testing/crash/load.ts';
import { createRandom } from '../../src/testing/crash/random.ts';
import {
  appendOne,
  judgeFresh,
  must,
  SESSION,
  TestHome,
  told,
  transcriptLines,
  until,
} from '../support/store-faults.ts';

const ROUNDS = Number(process.env['REPRISE_CRASH_ROUNDS'] ?? 0);
const SEED = Number(process.env['REPRISE_CRASH_SEED'] ?? 30);

type Kind = 'jsonl' | 'sqlite';
type Ending = 'stop' | 'kill';

const KINDS = ['jsonl', 'sqlite'] as const;
const REMOVALS: readonly [readonly string[], ...(readonly string[])[]] = [
  ['-shm'],
  ['-wal'],
  ['-wal', '-shm'],
];
const LOAD = { sessions: ['s'], window: 2, maxBytes: 2000 } as const;

/** Two writers on one store, what they were asked and answered, and ways to take their files away. */
class Scene implements AsyncDisposable {
  readonly kind: Kind;
  readonly at: TestHome = new TestHome();
  readonly history: History = createHistory();
  fleet!: Fleet;

  private constructor(kind: Kind) {
    this.kind = kind;
  }

  static async open(kind: Kind): Promise<Scene> {
    const scene = new Scene(kind);
    scene.fleet = await startFleet(scene.options, 2);
    await must(scene.fleet[0], SESSION);
    return scene;
  }

  get options(): ReturnType<TestHome['options']> {
    return this.at.options(this.kind);
  }

  get database(): string {
    return join(this.at.home, this.kind === 'jsonl' ? 'control.db' : 'store.db');
  }

  /** So much that it cannot all be in the database yet. */
  async fill(seed: number, drivers: readonly DriverProcess[] = this.fleet): Promise<void> {
    const load = startLoad({ ...LOAD, drivers, history: this.history, seed });
    expect(await load.reach(40, 20_000)).toBe(true);
    await load.stop();
  }

  remove(suffixes: readonly string[]): void {
    for (const suffix of suffixes) rmSync(this.database + suffix, { force: true });
  }

  append(driver: DriverProcess): Promise<Answer> {
    return appendOne(driver, this.history);
  }

  /** Refused with the reason, then as before. Two files go one after the other, which may be noticed twice. */
  async mustTell(driver: DriverProcess): Promise<void> {
    let answer = await this.append(driver);
    for (let i = 0; i === 0 || (i < 2 && !answer.ok); i++) {
      expect(answer).toMatchObject({ code: 'STORE_MOVED', outcome: 'none' });
      answer = await this.append(driver);
    }
    expect(answer).toMatchObject({ ok: true });
  }

  async end(ending: Ending, drivers: readonly DriverProcess[] = this.fleet): Promise<void> {
    for (const driver of drivers) {
      if (ending === 'kill') driver.kill();
      else expect(await driver.stop()).toMatchObject({ code: 0, stderr: '' });
      await driver.exited;
    }
  }

  /** Everything acknowledged is there once, in a database without damage, and the store can be used. */
  async judge(what: string): Promise<void> {
    const { before, after } = await judgeFresh(this.options, this.history);
    told(`T30d ${this.kind} ${what}: ${before.line}`);
    expect(after).toMatchObject({ unknown: 0, lost: 0, duplicated: 0 });
    if (this.kind === 'jsonl') {
      const qs = transcriptLines(this.at.transcript).map(({ q }) => q);
      expect(qs).toEqual(qs.map((_, index) => index + 1));
    }
    expect(this.query('PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }]);
  }

  query(sql: string, path: string = this.database): unknown[] {
    const db = new DatabaseSync(path);
    try {
      return db
        .prepare(sql)
        .all()
        .map((row) => ({ ...row }));
    } finally {
      db.close();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const driver of this.fleet) {
      driver.kill('SIGCONT');
      await driver[Symbol.asyncDispose]();
    }
    this.at[Symbol.dispose]();
  }
}

const CASES = KINDS.flatMap((kind) => REMOVALS.map((suffixes) => ({ kind, suffixes })));

describe('T30d side files removed under two live writers that rest', () => {
  test.each(CASES)('$kind $suffixes: each is told, goes on, and nothing is lost', async (which) => {
    await using scene = await Scene.open(which.kind);
    await scene.fill(30);
    scene.remove(which.suffixes);
    for (const driver of scene.fleet) {
      await scene.mustTell(driver);
      expect(await driver.send({ op: 'get', id: 's' })).toMatchObject({ ok: true });
    }
    await scene.fill(31);
    await scene.end('stop');
    await scene.judge(`${which.suffixes}, told`);
  });

  test.each(CASES)('$kind $suffixes: killed once they were told, they lose nothing', async (which) => {
    await using scene = await Scene.open(which.kind);
    await scene.fill(32);
    scene.remove(which.suffixes);
    const answers = await Promise.all(scene.fleet.map((driver) => scene.append(driver)));
    for (const answer of answers) expect(answer).toMatchObject({ code: 'STORE_MOVED', outcome: 'none' });
    await scene.end('kill');
    await scene.judge(`${which.suffixes}, told, kill`);
  });

  test.each(CASES)('$kind $suffixes: a third process that comes at once finds everything', async (which) => {
    await using scene = await Scene.open(which.kind);
    await scene.fill(33);
    scene.remove(which.suffixes);
    await using third = await startDriver(scene.options);
    await scene.fill(34, [third]);
    const message = { op: 'put', key: 'agent:main:third', idempotencyKey: 'm', body: { text: 'hello' } };
    await must(third, message);
    await scene.end('stop', [third]);
    await scene.end('stop');
    await scene.judge(`${which.suffixes}, third`);
    await using fourth = await startDriver(scene.options);
    expect(await must(fourth, message)).toMatchObject({ fresh: false });
  });

  test('a process that cannot leave keeps everybody else out, loudly, until it goes on', async () => {
    await using scene = await Scene.open('sqlite');
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
    await using scene = await Scene.open(kind);
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
    await using scene = await Scene.open(kind);
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
  const limit = 60_000 * rounds;
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

describe('T30d a program that knows nothing of this makes new side files', () => {
  /** While both rest: nothing can notice the removal before the other program has written. */
  async function intrude(scene: Scene, suffixes: readonly string[], sql: string): Promise<void> {
    for (const driver of scene.fleet) driver.kill('SIGSTOP');
    scene.remove(suffixes);
    scene.query(sql);
    for (const driver of scene.fleet) driver.kill('SIGCONT');
  }

  test.each(KINDS)('%s: with the log in its place, what both have written stays', async (kind) => {
    await using scene = await Scene.open(kind);
    await scene.fill(36);
    await intrude(scene, ['-shm'], "INSERT INTO meta VALUES ('note', 'kept')");
    for (const driver of scene.fleet) {
      await scene.mustTell(driver);
    }
    await scene.end('stop');
    await scene.judge('-shm, another program writes');
    expect(scene.query("SELECT value FROM meta WHERE name = 'note'")).toEqual([{ value: 'kept' }]);
  });

  test.each(KINDS)('%s: one that only looks does no harm', async (kind) => {
    await using scene = await Scene.open(kind);
    await scene.fill(37);
    await intrude(scene, ['-wal', '-shm'], 'SELECT 1 FROM sqlite_schema');
    for (const driver of scene.fleet) {
      await scene.mustTell(driver);
    }
    await scene.end('stop');
    await scene.judge('-wal,-shm, another program looks');
  });

  test('where it has written without the log, the store stays refused and a copy keeps what it lacks', async () => {
    await using scene = await Scene.open('sqlite');
    const count = 'SELECT sum(last_seq - first_seq + 1) AS lines FROM journal';
    // Restarted, they begin with an empty log, so that the other program finds the tables.
    await scene.end('stop');
    scene.fleet = await startFleet(scene.options, 2);
    await scene.fill(38);
    const acknowledged = [...scene.history.attempts.values()].reduce(
      (sum, { sizes }) => sum + sizes.length,
      1,
    );
    await intrude(scene, ['-wal', '-shm'], "INSERT INTO meta VALUES ('note', 'kept')");
    for (const driver of scene.fleet) {
      await scene.append(driver);
      const answer = await driver.send({ op: 'create', id: 'other', key: 'agent:main:other' });
      expect(answer).toMatchObject({ code: 'STORE_MOVED', outcome: 'none' });
      const copy = String(answer.details?.['copy']);
      expect(scene.query(count, copy)).toEqual([{ lines: acknowledged }]);
      expect(statSync(copy).mode & 0o777).toBe(0o600);
      expect(readFileSync(copy).length).toBeGreaterThan(0);
    }
    await scene.end('stop');
    expect(scene.query('PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }]);
    expect(scene.query("SELECT value FROM meta WHERE name = 'note'")).toEqual([{ value: 'kept' }]);
    await using later = await startDriver(scene.options);
    expect(await later.send(SESSION)).toMatchObject({ ok: true });
  });
});
