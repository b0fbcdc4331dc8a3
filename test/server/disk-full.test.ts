// @module-tag long
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openJsonlStore } from '../../src/store/jsonl/open.ts';
import { createHistory, textOf } from '../../testing/crash/history.ts';
import { judgeHistory } from '../../testing/crash/judge.ts';
import { ask, startServer, talk } from '../support/server/http.ts';
import { ServeProcess } from '../support/server/serve-process.ts';
import { cannotMount, mountTmpfs, TestHome, transcriptLines } from '../support/store/store-faults.ts';

const why = cannotMount();
const skipped = why === undefined ? '' : `: ${why}`;

test.skipIf(why !== undefined)(
  `a disk that fills up is 507, nothing acknowledged is lost, and writing continues when there is room (T04)${skipped}`,
  async () => {
    using at = new TestHome();
    using _disk = mountTmpfs(at.home, '8m');
    const store = await openJsonlStore({ home: join(at.home, 'data'), minFreeBytes: 0 });
    await using server = await startServer({}, { store });
    const id = await talk(server.reprise, ['one']);
    const path = `/api/agents/main/sessions/${id}`;
    const note = (n: number) =>
      server.ask(path, { method: 'PATCH', body: { [`x-${n}`]: 'a'.repeat(100_000) } });
    const filler = join(at.home, 'filler');
    await writeFile(filler, Buffer.alloc(8 * 1024 * 1024)).catch(() => undefined); // until nothing is left
    const kept: number[] = [];
    let refused = 0;
    for (let n = 0; n < 60 && refused < 3; n++) {
      const { status, json } = await note(n);
      if (status === 200) kept.push(n);
      else {
        refused++;
        expect([status, json.code], json.error).toEqual([507, 'STORE_FULL']);
      }
    }
    expect(refused).toBe(3);
    expect((await server.ask('/healthz')).status).toBe(200);
    expect((await server.ask(path)).json.data).toHaveLength(2);
    await rm(filler);
    await expect.poll(async () => (await note(100)).status).toBe(200);
    const settings = (await server.ask(path)).json.session['settings'] as Record<string, unknown>;
    for (const n of [...kept, 100]) expect(settings).toHaveProperty(`x-${n}`);
    expect((await server.reprise.store.verify()).status).toBe('clean');
  },
);

test.skipIf(why !== undefined)(
  `reprise serve on a disk that fills up answers 507 and stays up; what it accepted is kept, line by line (T04)${skipped}`,
  async () => {
    using at = new TestHome();
    using _disk = mountTmpfs(at.home, '6m');
    const env = {
      REPRISE_STORE_MIN_FREE_BYTES: '0',
      REPRISE_SESSION_QUEUE: JSON.stringify({ mode: 'followup', debounceMs: 0, cap: 10_000 }),
    };
    await using server = await ServeProcess.start({ home: at.home, env });
    const history = createHistory();
    const say = async (): Promise<number> => {
      const attempt = history.begin({ session: 's', sizes: [20_000] });
      const { status, json } = await ask(server.port, '/api/inbound', {
        method: 'POST',
        body: { text: textOf(attempt, 0), channel: 'web', sessionId: 's' },
        headers: { 'Idempotency-Key': attempt.key },
      });
      const outcome = json['outcome'] === 'unknown' ? 'unknown' : 'none';
      history.settle(attempt.key, status === 202 ? { n: null, ok: true } : { n: null, ok: false, outcome });
      return status;
    };
    expect(await say()).toBe(202);
    const filler = join(at.home, 'filler');
    await writeFile(filler, Buffer.alloc(3 * 1024 * 1024)).catch(() => undefined);
    const told: number[] = [];
    while (told.filter((status) => status !== 202).length < 5 && told.length < 300) told.push(await say());
    expect(told.filter((status) => status !== 202)).toEqual([507, 507, 507, 507, 507]);
    expect((await ask(server.port, '/healthz')).status).toBe(200);
    expect((await ask(server.port, '/api/agents/main/sessions/s')).status).toBe(200);
    expect(server.exitCode).toBeNull();
    await rm(filler);
    await expect.poll(say).toBe(202);
    const open = async (): Promise<number> => {
      const { text } = await ask(server.port, '/metrics');
      return [...text.matchAll(/^reprise_inbox\{.*\} (\d+)$/gm)].reduce((sum, [, n]) => sum + Number(n), 0);
    };
    await expect.poll(open).toBe(0);
    expect(await server.end('SIGTERM')).toBe(0);
    const lines = transcriptLines(at.transcript);
    expect(lines.map(({ q }) => q)).toEqual(lines.map((_, i) => i + 1));
    const said = lines.filter(({ text }) => /^a\d+#0:/.test(text));
    const seen = said.map(({ text }, i) => ({
      seq: i + 2,
      entry: { type: 'message', message: { content: text } },
    }));
    const report = judgeHistory(history, new Map([['s', [{ seq: 1, entry: { type: 'session' } }, ...seen]]]));
    expect(report.findings).toEqual([]);
    expect(report.refused).toBeGreaterThanOrEqual(5);
  },
);
