import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openJsonlStore } from '../../src/store/jsonl/open.ts';
import { startServer } from '../support/server/http.ts';

test('the first reader of a damaged session is informed of the damage, and gets what is left', async () => {
  const home = await mkdtemp(join(tmpdir(), 'reprise-damaged-'));
  onTestFinished(() => rm(home, { recursive: true }));
  {
    await using store = await openJsonlStore({ home });
    await store.create({ id: 's', key: 'agent:main:session:s' });
    for (const content of ['first', 'second', 'third'])
      await store.append('s', [{ type: 'message', message: { role: 'user', content } }]);
  }
  const file = join(home, 'agents', 'main', 'sessions', 's.jsonl');
  const bytes = await readFile(file);
  const at = bytes.indexOf('second');
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  await writeFile(file, bytes);

  await using server = await startServer({}, { store: await openJsonlStore({ home }) });
  const { json } = await server.ask('/api/agents/main/sessions/s');
  expect(json).toMatchObject({
    session: { corruptAt: bytes.lastIndexOf('\n', at) + 1 },
    data: [{ text: 'first' }, { text: 'third' }],
  });
});
