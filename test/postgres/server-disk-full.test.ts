import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openStore } from '../../src/config/open.ts';
import type { Store } from '../../src/store/store.ts';
import type { Answer } from '../../src/testing/crash/driver-process.ts';
import { createHistory, type History } from '../../src/testing/crash/history.ts';
import { assertClean } from '../../src/testing/crash/judge.ts';
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts';
import { query } from '../support/postgres-suite.ts';
import { cannotMount, mountTmpfs } from '../support/store-faults.ts';
import { appendTo, judgeStore } from '../support/store-history.ts';

const why = cannotMount();
const PATIENCE_MS = 60_000;

describe.skipIf(why !== undefined)(
  `a database server whose disk is full${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'reprise-server-disk-'));
    const disks = { data: join(folder, 'data'), wal: join(folder, 'wal') };
    const mounted = new DisposableStack();
    let server: PostgresServer;
    let session = '';
    beforeAll(async () => {
      for (const [path, size] of [
        [disks.data, '72m'],
        [disks.wal, '12m'],
      ] as const) {
        mkdirSync(path);
        mounted.use(mountTmpfs(path, size));
      }
      // The server is somebody else.
      for (const path of [folder, disks.data, disks.wal]) chmodSync(path, 0o755);
      server = await startPostgres({
        disks,
        // So that what it writes ahead is not written over before the disk is full.
        settings: ['max_wal_size=1GB', 'min_wal_size=2MB', 'shared_buffers=16MB'],
      });
    });
    afterAll(async () => {
      await server?.stop();
      mounted.dispose();
      rmSync(folder, { recursive: true, force: true });
    });

    /** Until nothing is left. */
    function fill(disk: string): string {
      const ballast = join(disk, 'ballast');
      try {
        for (;;) writeFileSync(ballast, Buffer.alloc(256 * 1024), { flag: 'a' });
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      }
      return ballast;
    }

    async function append(store: Store, history: History): Promise<Answer> {
      const { key } = history.begin({ session, sizes: [20_000] });
      return appendTo(store, history, key);
    }

    async function untilRefused(
      store: Store,
      history: History,
      { count, between = async () => undefined }: { count: number; between?: () => Promise<unknown> },
    ): Promise<string[]> {
      const refused: string[] = [];
      for (let tries = 0; refused.length < count && tries < 3000; tries++) {
        const { ok, code, outcome } = await append(store, history);
        if (!ok) refused.push(`${code} ${outcome}`);
        else await between();
      }
      expect(refused).toHaveLength(count);
      return refused;
    }

    test('for its tables refuses with STORE_FULL and can be read; with room again everything goes on', async () => {
      await using store = await openStore({ kind: 'postgres', url: server.url });
      session = 'tables';
      await store.create({ id: session, key: 'agent:main:tables' });
      const history = createHistory();
      for (let i = 0; i < 20; i++) expect(await append(store, history)).toMatchObject({ ok: true });
      const ballast = fill(disks.data);
      const refused = await untilRefused(store, history, { count: 5 });
      expect(new Set(refused)).toEqual(new Set(['STORE_FULL none']));
      assertClean(await judgeStore(store, history, [session]));
      rmSync(ballast);
      for (let i = 0; i < 20; i++) expect(await append(store, history)).toMatchObject({ ok: true });
      const report = await judgeStore(store, history, [session]);
      console.log(`tables: ${report.line}`);
      assertClean(report);
      expect((await store.verify()).status).toBe('clean');
    });

    test('for what it writes ahead panics and comes back: nothing acknowledged is lost, and keys say what became of the rest', async () => {
      await using store = await openStore({ kind: 'postgres', url: server.url });
      session = 'ahead';
      await store.create({ id: session, key: 'agent:main:ahead' });
      const history = createHistory();
      for (let i = 0; i < 20; i++) expect(await append(store, history)).toMatchObject({ ok: true });
      const ballast = fill(disks.wal);
      // It has a few files in reserve: each is called full after one append, so that the disk soon matters.
      const between = (): Promise<unknown> =>
        query(server.url, 'SELECT pg_switch_wal()').catch(() => undefined);
      const refused = await untilRefused(store, history, { count: 8, between });
      rmSync(ballast);
      const isBack = async (): Promise<boolean> => {
        // It may have given up; then whoever looks after it starts it.
        await server.start();
        return (await append(store, history)).ok;
      };
      await expect.poll(isBack, { timeout: PATIENCE_MS }).toBe(true);
      for (const { key } of history.unknown())
        expect(await appendTo(store, history, key)).toMatchObject({ ok: true });
      const report = await judgeStore(store, history, [session]);
      console.log(`write-ahead log: ${[...new Set(refused)].join(', ')}; ${report.line}`);
      assertClean(report);
      expect(report.unknown).toBe(0);
      expect((await store.verify()).status).toBe('clean');
    });
  },
);
