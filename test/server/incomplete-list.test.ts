import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { createOfflineModel } from '../../src/models/offline/offline-model.ts';
import { openJsonlStore } from '../../src/store/jsonl/open.ts';
import { runBeside } from '../support/processes/command-line.ts';
import { openServer, TOKEN } from '../support/server/server.ts';

test('a list is marked as incomplete while the index is being rebuilt, and not afterwards', async () => {
  const home = await mkdtemp(join(tmpdir(), 'reprise-incomplete-'));
  onTestFinished(() => rm(home, { recursive: true }));
  {
    await using store = await openJsonlStore({ home });
    for (const id of ['read', 'unread']) await store.create({ id, key: `agent:main:session:${id}` });
    expect(await store.list()).not.toHaveProperty('rebuilding');
  }
  // A rebuild that cannot end yet: the index has the row of a transcript that the disk does not give.
  const file = join(home, 'agents/main/sessions/unread.jsonl');
  const db = new DatabaseSync(join(home, 'control.db'));
  db.exec("UPDATE sessions SET seq = 0, q = 0 WHERE id = 'unread'");
  db.close();
  await rm(file);
  await mkdir(file);

  const store = await openJsonlStore({ home });
  expect(await store.list()).toMatchObject({ rebuilding: { done: 0, total: 1 } });
  await using server = await openServer(createOfflineModel(), { store });
  const answer = await (await server.request('/api/sessions')).json();
  expect(answer).toMatchObject({ rebuilding: { done: 0, total: 1 } });
  const env = { REPRISE_URL: server.url, REPRISE_TOKEN: TOKEN };
  const [people, program] = await Promise.all([
    runBeside(['ls'], { env }),
    runBeside(['ls', '--json'], { env }),
  ]);
  expect(people.stderr).toContain('Message counts are incomplete');
  expect(JSON.parse(program.stdout)).toMatchObject({ rebuilding: { done: 0, total: 1 } });

  // It never had a message: the row goes with its file, and the rebuild ends.
  await rm(file, { recursive: true });
  await expect.poll(async () => (await store.list()).rebuilding).toBeUndefined();
});
