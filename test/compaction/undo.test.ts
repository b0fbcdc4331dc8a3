import { describe, expect, test } from 'vitest';
import { compactionStack, mayCommit, redoCompaction, undoCompaction } from '../../src/compaction/undo.ts';
import { selectContext } from '../../src/transcript/render/select.ts';
import { EntryList } from '../support/engine/entries.ts';

function talk(list: EntryList, from: number, to: number): string[] {
  return Array.from({ length: to - from }, (_, i) => list.user(`message ${from + i}`));
}

describe('undo of a compaction', () => {
  test('brings the originals back and keeps every turn made since; redo takes that back', () => {
    const list = new EntryList();
    const before = talk(list, 0, 6);
    list.add('compaction', { summary: 'zero to three', firstKeptEntryId: before[4] });
    const since = talk(list, 6, 8);
    const one = undoCompaction(list.entries);
    expect(one).toMatchObject({ summary: '', firstKeptEntryId: before[0] });
    list.add('compaction', { ...one });
    const ids = (): string[] =>
      selectContext(list.entries)
        .entries.filter(({ type }) => type === 'message')
        .map(({ id }) => id);
    expect(ids()).toEqual([...before, ...since]);
    expect(undoCompaction(list.entries)).toBeUndefined();
    const later = talk(list, 8, 9);
    list.add('compaction', { ...redoCompaction(list.entries) });
    expect(selectContext(list.entries).compaction?.['summary']).toBe('zero to three');
    expect(ids()).toEqual([...before.slice(4), ...since, ...later]);
    expect(redoCompaction(list.entries)).toBeUndefined();
  });

  test('goes back one compaction at a time', () => {
    const list = new EntryList();
    const ids = talk(list, 0, 4);
    list.add('compaction', { summary: 'first', firstKeptEntryId: ids[2] });
    const more = talk(list, 4, 8);
    list.add('compaction', { summary: 'second', firstKeptEntryId: more[1] });
    list.add('compaction', { ...undoCompaction(list.entries) });
    expect(selectContext(list.entries).compaction).toMatchObject({
      summary: 'first',
      firstKeptEntryId: ids[2],
    });
    list.add('compaction', { ...undoCompaction(list.entries) });
    expect(selectContext(list.entries).compaction).toMatchObject({ summary: '', firstKeptEntryId: ids[0] });
    expect(compactionStack(list.entries)).toMatchObject({
      inForce: [],
      undone: [{ summary: 'second' }, { summary: 'first' }],
    });
    list.add('compaction', { ...redoCompaction(list.entries) });
    expect(selectContext(list.entries).compaction).toMatchObject({ summary: 'first' });
    list.add('compaction', { ...redoCompaction(list.entries) });
    expect(selectContext(list.entries).compaction).toMatchObject({ summary: 'second' });
  });
});

describe('a compaction planned on a snapshot', () => {
  const list = new EntryList();
  const ids = talk(list, 0, 6);
  const covered = list.entries.slice(0, 3);
  const snapshotLeaf = ids[5] ?? '';

  test('may be appended after turns that came meanwhile', () => {
    talk(list, 6, 8);
    expect(mayCommit(list.entries, { snapshotLeaf, covered })).toBe(true);
  });

  test('may not when what it covers was edited or compacted, or its branch was left', () => {
    const allows = (type: string, fields: object): boolean =>
      mayCommit([...list.entries, { type, id: 'x', parentId: null, timestamp: '', ...fields }], {
        snapshotLeaf,
        covered,
      });
    expect(allows('context_edit', { targetId: ids[4] })).toBe(true);
    expect(allows('context_edit', { targetId: ids[1] })).toBe(false);
    expect(allows('compaction', {})).toBe(false);
    expect(mayCommit(list.entries.slice(0, 4), { snapshotLeaf, covered })).toBe(false);
  });
});
