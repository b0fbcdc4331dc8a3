import { expect, test } from 'vitest';
import { openStore } from '../../src/config/open.ts';
import { parseTranscript, rebuildHistory } from '../../src/exports/transcript.ts';
import { copyHistory } from '../../src/store/copy/copy-history.ts';
import { call, EntryList } from '../support/engine/entries.ts';

test('a copy equals the original: branches, labels, compactions and edits included', async () => {
  const list = new EntryList();
  list.user('one');
  list.assistant(['two', call('a')]);
  const result = list.result('a', 'big');
  const abandoned = list.user('on a branch that was left');
  list.add('label', { targetId: abandoned, label: 'old idea' });
  list.add('custom', { customType: 'reprise.leaf' }, result);
  const kept = list.add('message', { message: { role: 'user', content: 'kept' } }, result);
  list.add('context_edit', { targetId: kept, replacement: { content: 'kept, shorter' } });
  list.add('compaction', { summary: 'so far', firstKeptEntryId: kept, tokensBefore: 9 });
  list.user('three');
  list.add('custom', { customType: 'reprise.settings', data: { label: 'x' } }, list.leaf);

  await using store = await openStore({ kind: 'memory' });
  const { id } = await store.create({ key: 'agent:main:main' });
  await copyHistory(store, id, list.entries);
  const copy = parseTranscript(await store.exportSession(id));
  expect(copy.issues.counts.size).toBe(0);
  for (const format of ['anthropic', 'openai'] as const) {
    expect(rebuildHistory(copy.entries, { format })).toEqual(rebuildHistory(list.entries, { format }));
  }
  const texts = copy.entries.map((entry) => (entry['message'] as { content?: unknown } | undefined)?.content);
  expect(texts).toContain('on a branch that was left');
  expect((await store.get(id)).settings).toEqual({ label: 'x' });
});
