import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openJsonlStore } from '../../src/store/jsonl/open.ts';
import { startServer, talk } from '../support/http.ts';
import { cannotMount, mountTmpfs, TestHome } from '../support/store-faults.ts';

const why = cannotMount();

test.skipIf(why !== undefined)(
  `a disk that fills up is 507, nothing acknowledged is lost, and it goes on when there is room (T04)${why === undefined ? '' : `: ${why}`}`,
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
    await expect.poll(async () => (await note(100)).status, { timeout: 20_000 }).toBe(200);
    const settings = (await server.ask(path)).json.session['settings'] as Record<string, unknown>;
    for (const n of [...kept, 100]) expect(settings).toHaveProperty(`x-${n}`);
    expect((await server.reprise.store.verify()).status).toBe('clean');
  },
);
