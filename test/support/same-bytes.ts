import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type OpenStoreOptions, openStore } from '../../src/config/open.ts';
import { entryIdForSeq } from '../../src/index.ts';

const HOSTILE = ['\u0000', '\ud800', '\u2028', '💬', '\u0085', '\r\n', '\ufeff', '{"__proto__":1}'];

/** The export of a session that saw a bit of everything, on an empty store with a fixed clock. */
export async function exportOf(options: OpenStoreOptions): Promise<Buffer> {
  const home = mkdtempSync(join(tmpdir(), 'reprise-equal-'));
  try {
    await using store = await openStore({ home, now: '2025-01-01T00:00:00.000Z', ...options });
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
