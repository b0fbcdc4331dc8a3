import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openStore, type StoreKind } from '../../src/config/open.ts';
import { entryIdForSeq } from '../../src/exports/transcript.ts';
import { freshDatabase } from '../support/postgres/postgres.ts';

const HOSTILE = ['\u0000', '\ud800', '\u2028', '💬', '\u0085', '\r\n', '\ufeff', '{"__proto__":1}'];

async function script(kind: StoreKind): Promise<Buffer> {
  await using database = kind === 'postgres' ? await freshDatabase() : undefined;
  const url = database === undefined ? {} : { url: database.url };
  const home = mkdtempSync(join(tmpdir(), 'reprise-equal-'));
  try {
    await using store = await openStore({ kind, home, ...url, now: '2025-01-01T00:00:00.000Z' });
    await store.create({ id: 's1', key: 'agent:main:main', cwd: '/project' });
    for (const content of HOSTILE)
      await store.append('s1', [{ type: 'message', message: { role: 'user', content } }], {
        key: `k-${content.length}-${content.codePointAt(0)}`,
      });
    await store.append('s1', [
      { type: 'message', message: { role: 'assistant', content: [] } },
      { type: 'label', targetId: entryIdForSeq(2), label: 'x' },
    ]);
    const picture = {
      type: 'image',
      data: Buffer.alloc(100_000, 'px').toString('base64'),
      mimeType: 'image/png',
    };
    const output = { type: 'text', text: '字'.repeat(50_000) };
    await store.append('s1', [{ type: 'message', message: { role: 'user', content: [picture] } }]);
    await store.append('s1', [{ type: 'message', message: { role: 'toolResult', content: [output] } }]);
    const { epoch } = await store.lease('s1');
    await store.append('s1', [{ type: 'custom', customType: 'reprise.leaf', parentId: entryIdForSeq(3) }], {
      epoch,
    });
    await store.append(
      's1',
      [{ type: 'compaction', summary: 's', firstKeptEntryId: entryIdForSeq(3), tokensBefore: 1 }],
      { epoch },
    );
    await store.patch('s1', { label: 'named' });
    await store.delete('s1');
    await store.restore('s1');
    return Buffer.from(await store.exportSession('s1'));
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

test('T24 the same operations give the same bytes on every store', async () => {
  const kinds = ['memory', 'sqlite', 'jsonl', 'postgres'] as const;
  const [memory, ...others] = await Promise.all(kinds.map(script));
  expect(memory?.toString().split('\n').length).toBeGreaterThan(14);
  expect(memory?.toString().match(/"blob":"sha256:/g)).toHaveLength(2);
  for (const other of others) expect(other.equals(memory ?? Buffer.alloc(0))).toBe(true);
});
