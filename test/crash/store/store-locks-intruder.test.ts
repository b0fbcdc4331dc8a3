// @module-tag long
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { startDriver } from '../../../testing/crash/driver-process.ts';
import { startFleet } from '../../../testing/crash/fleet.ts';
import { KINDS, MovedScene } from '../../support/store/moved-scene.ts';
import { SESSION, until } from '../../support/store/store-faults.ts';

/** A signal is delivered to each thread when it is scheduled next, which takes time on a busy machine. */
function isStopped(pid: number): boolean {
  return readdirSync(`/proc/${pid}/task`).every((thread) => {
    const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).startsWith('T');
  });
}

describe('T30d a program that knows nothing of this makes new side files', () => {
  /** All threads of both processes are stopped, so neither can notice the removal before the other program writes. */
  async function intrude(scene: MovedScene, suffixes: readonly string[], sql: string): Promise<void> {
    for (const driver of scene.fleet) driver.kill('SIGSTOP');
    await until('all threads are stopped', () => scene.fleet.every(({ pid }) => isStopped(pid)));
    scene.remove(suffixes);
    scene.query(sql);
    for (const driver of scene.fleet) driver.kill('SIGCONT');
  }

  test.each(KINDS)('%s: with the log in its place, what both have written stays', async (kind) => {
    await using scene = await MovedScene.open(kind);
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
    await using scene = await MovedScene.open(kind);
    await scene.fill(37);
    await intrude(scene, ['-wal', '-shm'], 'SELECT 1 FROM sqlite_schema');
    for (const driver of scene.fleet) {
      await scene.mustTell(driver);
    }
    await scene.end('stop');
    await scene.judge('-wal,-shm, another program looks');
  });

  test('where it has written without the log, the store stays refused and a copy keeps what it lacks', async () => {
    await using scene = await MovedScene.open('sqlite');
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
    }
    await scene.end('stop');
    expect(scene.query('PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }]);
    expect(scene.query("SELECT value FROM meta WHERE name = 'note'")).toEqual([{ value: 'kept' }]);
    await using later = await startDriver(scene.options);
    expect(await later.send(SESSION)).toMatchObject({ ok: true });
  });
});
