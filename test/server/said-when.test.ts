import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startServer } from '../support/server/http.ts';
import { freshFolder, freshStore, importFrom } from '../support/store/interop-home.ts';

const TIMES = ['2024-02-01T08:00:00.000Z', '2024-02-01T08:05:00.000Z'];

function oldFile(): string {
  const file = join(freshFolder(), 'old.jsonl');
  const lines = [
    { type: 'session', version: 3, id: 'old', timestamp: TIMES[0], cwd: '/x' },
    ...TIMES.map((timestamp, i) => ({
      type: 'message',
      id: `e${i}`,
      parentId: i === 0 ? null : `e${i - 1}`,
      timestamp,
      message: { role: 'user', content: `needle ${i}` },
    })),
  ];
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  return file;
}

test('imported messages, and a copy of them, are shown and found with their original times', async () => {
  const store = await freshStore();
  await importFrom(store, oldFile());
  await using server = await startServer({}, { store });
  const fork = await server.ask('/api/agents/main/sessions/old/fork', { method: 'POST', body: {} });
  for (const id of ['old', fork.json.session.id]) {
    const { json } = await server.ask(`/api/agents/main/sessions/${id}`);
    const rows = json.data.filter(({ role }) => role === 'user');
    expect(rows.map(({ timestamp }) => timestamp)).toEqual(TIMES);
    const tree = await server.ask(`/api/agents/main/sessions/${id}/tree`);
    expect(tree.json.data.map(({ timestamp }) => timestamp)).toEqual(TIMES);
    const found = await server.ask(`/api/search?q=needle&sessionId=${id}`);
    expect(found.json.data.map(({ at }) => at)).toEqual(TIMES.toReversed());
  }
});
