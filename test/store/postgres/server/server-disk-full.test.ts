// @module-tag long
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openStore } from '../../../../src/config/open.ts';
import type { Store } from '../../../../src/store/port/store.ts';
import type { Answer } from '../../../../testing/crash/driver-process.ts';
import { createHistory, type History } from '../../../../testing/crash/history.ts';
import { assertClean } from '../../../../testing/crash/judge.ts';
import { type PostgresServer, startPostgres } from '../../../support/postgres/postgres-server.ts';
import { query } from '../../../support/postgres/postgres-suite.ts';
import { type Answer as HttpAnswer, startServer } from '../../../support/server/http.ts';
import { cannotMount, mountTmpfs } from '../../../support/store/store-faults.ts';
import { appendTo, judgeStore } from '../../../support/store/store-history.ts';

const why = cannotMount();
const PATIENCE_MS = 60_000;

describe.skipIf(why !== undefined)(
  `a database server whose disk is full${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'reprise-server-disk-'));
    const disks = { data: join(folder, 'data'), wal: join(folder, 'wal') };
    const mounted = new DisposableStack();
    let server: PostgresServer;
    beforeAll(async () => {
      for (const [path, size] of [
        [disks.data, '72m'],
        [disks.wal, '12m'],
      ] as const) {
        mkdirSync(path);
        mounted.use(mountTmpfs(path, size));
      }
      // The server runs as another user.
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

    /** Until nothing is left; with its end there is room again. */
    function fill(disk: string): Disposable {
      const ballast = join(disk, 'ballast');
      try {
        for (;;) writeFileSync(ballast, Buffer.alloc(256 * 1024), { flag: 'a' });
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      }
      return { [Symbol.dispose]: () => rmSync(ballast, { force: true }) };
    }

    const said = ({ ok, code, outcome }: Answer): string => (ok ? 'ok' : `${code} ${outcome}`);

    /** One append to each session, all at once. */
    async function appendAll(store: Store, history: History, sessions: readonly string[]): Promise<string[]> {
      const keys = sessions.map((session) => history.begin({ session, sizes: [20_000] }).key);
      return (await Promise.all(keys.map((key) => appendTo(store, history, key)))).map(said);
    }

    async function untilRefused(rounds: number, append: () => Promise<string[]>): Promise<Set<string>> {
      const refused: string[][] = [];
      for (let tries = 0; refused.length < rounds && tries < 1000; tries++) {
        const answers = (await append()).filter((answer) => answer !== 'ok');
        if (answers.length > 0) refused.push(answers);
      }
      expect(refused).toHaveLength(rounds);
      return new Set(refused.flat());
    }

    async function makeSessions(store: Store, name: string): Promise<string[]> {
      const ids = [1, 2, 3].map((n) => `${name}-${n}`);
      for (const id of ids) await store.create({ id, key: `agent:main:${id}` });
      return ids;
    }

    test('for its tables refuses with STORE_FULL and can be read; with room again everything continues', async () => {
      await using store = await openStore({ kind: 'postgres', url: `${server.url}?connect_timeout_ms=3000` });
      const history = createHistory();
      const ids = await makeSessions(store, 'tables');
      await using http = await startServer({}, { store });
      const chat = (message: string): Promise<HttpAnswer> =>
        http.ask('/api/agents/main/chat', { method: 'POST', body: { message, sessionId: 'chat' } });
      const append = (): Promise<string[]> => appendAll(store, history, ids);
      for (let i = 0; i < 5; i++) expect(await append()).toEqual(['ok', 'ok', 'ok']);
      expect((await chat('there is room')).status).toBe(200);
      using full = fill(disks.data);
      expect(await untilRefused(3, append)).toEqual(new Set(['STORE_FULL none']));
      assertClean(await judgeStore(store, history, ids));
      const { status, json } = await chat(randomBytes(200_000).toString('base64'));
      expect([status, json.code]).toEqual([507, 'STORE_FULL']);
      full[Symbol.dispose]();
      expect((await chat('there is room again')).text).toContain('You said: \\"there is room again\\"');
      const { data } = (await http.ask('/api/agents/main/sessions/chat')).json;
      expect(data.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant']);
      for (let i = 0; i < 5; i++) expect(await append()).toEqual(['ok', 'ok', 'ok']);
      const report = await judgeStore(store, history, ids);
      console.log(`tables: ${report.line}`);
      assertClean(report);
      expect((await store.verify()).status).toBe('clean');
    });

    test('for what it writes ahead panics and comes back: nothing acknowledged is lost, and keys say what became of the rest', async () => {
      await using store = await openStore({ kind: 'postgres', url: `${server.url}?connect_timeout_ms=3000` });
      const history = createHistory();
      const ids = await makeSessions(store, 'ahead');
      const append = (): Promise<string[]> => appendAll(store, history, ids);
      // A server that recovers from a crash has lost its statistics.
      const life = async (): Promise<unknown> =>
        (await query(server.url, 'SELECT pg_stat_get_bgwriter_stat_reset_time()::text AS at')).rows[0].at;
      for (let i = 0; i < 5; i++) expect(await append()).toEqual(['ok', 'ok', 'ok']);
      const before = await life();
      using full = fill(disks.wal);
      const refused = await untilRefused(3, async () => {
        const answers = await append();
        // It has a few files in reserve: each is called full after a few appends, so that the disk soon matters.
        await query(server.url, 'SELECT pg_switch_wal()').catch(() => undefined);
        return answers;
      });
      full[Symbol.dispose]();
      const isBack = async (): Promise<unknown> => {
        // It may have given up; then its operator starts it.
        await server.start();
        return append();
      };
      await expect.poll(isBack, { timeout: PATIENCE_MS }).toEqual(['ok', 'ok', 'ok']);
      expect(await life()).not.toBe(before);
      for (const { key } of history.unknown()) expect(said(await appendTo(store, history, key))).toBe('ok');
      const report = await judgeStore(store, history, ids);
      console.log(`write-ahead log: ${[...refused].join(', ')}; ${report.line}`);
      assertClean(report);
      expect(report.unknown).toBe(0);
      expect((await store.verify()).status).toBe('clean');
    });
  },
);
