import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openStore } from '../../src/config/open.ts';
import { type Answer, startServer, talk } from '../support/server/http.ts';

const ROUNDS = 15;

test('of two servers on one home that get the same version at the same moment one changes it', async () => {
  const home = mkdtempSync(join(tmpdir(), 'reprise-if-match-'));
  {
    const open = () => openStore({ kind: 'jsonl', home, durability: 'os' });
    await using one = await startServer({}, { store: await open() });
    await using two = await startServer({}, { store: await open() });
    const id = await talk(one.reprise, ['hello']);
    const path = `/api/agents/main/sessions/${id}`;
    let { etag = '' } = (await two.ask(path)).headers;
    for (let round = 0; round < ROUNDS; round++) {
      const headers = { 'If-Match': etag };
      const change = (server: typeof one, name: string): Promise<Answer> =>
        server.ask(path, { method: 'PATCH', body: { title: name, label: name }, headers });
      const told = await Promise.all(
        [one, two, one, two].map((server, i) => change(server, `${round}-${i}`)),
      );
      const done = told.filter(({ status }) => status === 200);
      expect(told.map(({ status }) => status).sort()).toEqual([200, 412, 412, 412]);
      // A title and a label are never mixed from two requests, and the refusals name the present version.
      const { session } = done[0]?.json ?? {};
      expect(session).toMatchObject({ title: session?.['label'] });
      etag = done[0]?.headers.etag ?? '';
      for (const { status, json } of told)
        if (status === 412) expect(json).toMatchObject({ code: 'PRECONDITION_FAILED', details: { etag } });
    }
    const ends = await Promise.all(
      [one, two].map((server) => server.ask(path, { method: 'DELETE', headers: { 'If-Match': etag } })),
    );
    expect(ends.map(({ status }) => status).sort()).toEqual([200, 412]);
    const trashed = (await one.ask(path)).headers.etag ?? '';
    for (const step of ['restore', 'purge'])
      expect(
        (await two.ask(`${path}/${step}`, { method: 'POST', headers: { 'If-Match': etag } })).status,
      ).toBe(412);
    expect(
      (await two.ask(`${path}/purge`, { method: 'POST', headers: { 'If-Match': trashed } })).status,
    ).toBe(200);
  }
  rmSync(home, { recursive: true });
});

test('"*" means any version: such a request is never refused for a change by another client', async () => {
  await using server = await startServer();
  const id = await talk(server.reprise, ['hello']);
  const path = `/api/agents/main/sessions/${id}`;
  const headers = { 'If-Match': '*' };
  const all = await Promise.all(
    [1, 2, 3, 4].map((n) => server.ask(path, { method: 'PATCH', body: { label: `l${n}` }, headers })),
  );
  expect(all.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
});
