import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { buildTree, IssueLog, type JsonObject, pathTo, selectContext } from '../../src/exports/transcript.ts';
import { type Entry, RepriseError } from '../../src/index.ts';
import { EntryList } from '../support/engine/entries.ts';

fc.configureGlobal({ seed: Number(process.env['REPRISE_PROPERTY_SEED'] ?? 7) });

const at = '2025-01-01T00:00:00.000Z';
const entry = (id: string, parentId: string | null, fields: JsonObject = { type: 'message' }): Entry => ({
  type: 'message',
  id,
  parentId,
  timestamp: at,
  ...fields,
});

function path(entries: readonly Entry[], issues?: IssueLog): string[] {
  const tree = buildTree(entries, issues);
  return pathTo(tree, tree.leaf).map((i) => entries[i]?.id ?? '?');
}

describe('the tree of a transcript', () => {
  test('I-5 every walk ends, whatever the parents say', () => {
    const id = fc.integer({ min: 0, max: 15 }).map((n) => `e${n}`);
    const records = fc.array(fc.record({ id, parentId: fc.option(id), side: fc.boolean() }), {
      maxLength: 40,
    });
    fc.assert(
      fc.property(records, (all) => {
        const entries = all.map(({ id, parentId, side }, i) =>
          entry(id, parentId, { type: side ? 'label' : 'message', i }),
        );
        const tree = buildTree(entries);
        for (let i = 0; i < entries.length; i++) {
          const walk = pathTo(tree, i);
          expect(new Set(walk).size).toBe(walk.length);
        }
        expect(tree.leaf).toBeLessThan(entries.length);
      }),
      { numRuns: 2000 },
    );
  });

  test('a missing parent is reported and the island hangs under the line before it', () => {
    const issues = new IssueLog();
    expect(path([entry('a', null), entry('b', 'a'), entry('c', 'gone'), entry('d', 'c')], issues)).toEqual([
      'a',
      'b',
      'c',
      'd',
    ]);
    expect(issues.count('missing-parent')).toBe(1);
  });

  test('a cycle is cut open where it starts in the file', () => {
    const issues = new IssueLog();
    expect(path([entry('a', null), entry('b', 'd'), entry('c', 'b'), entry('d', 'c')], issues)).toEqual([
      'a',
      'b',
      'c',
      'd',
    ]);
    expect(issues.count('cycle')).toBe(1);
    expect(path([entry('a', 'a')], issues)).toEqual(['a']);
  });

  test('a line that stands twice counts once', () => {
    const issues = new IssueLog();
    const [a, b] = [entry('a', null), entry('b', 'a')];
    expect(path([a, b, a, b], issues)).toEqual(['a', 'b']);
    expect(issues.count('duplicate-id')).toBe(2);
  });

  test('two different entries with one id both stay, children hang under the nearer one', () => {
    const entries = [
      entry('a', null, { text: 1 }),
      entry('b', 'a'),
      entry('a', 'b', { text: 2 }),
      entry('c', 'a'),
    ];
    expect(path(entries)).toEqual(['a', 'b', 'a', 'c']);
  });

  test('a file in reverse order is still the same conversation', () => {
    const entries = [entry('c', 'b'), entry('b', 'a'), entry('a', null)];
    const tree = buildTree(entries);
    expect(pathTo(tree, 0).map((i) => entries[i]?.id)).toEqual(['a', 'b', 'c']);
  });

  test('100,000 entries with one id, or in one long cycle, cost linear time', () => {
    const same = Array.from({ length: 100_000 }, (_, i) => entry('x', 'x', { i }));
    const cycle = Array.from({ length: 100_000 }, (_, i) => entry(`e${i}`, `e${(i + 1) % 100_000}`));
    const orphans = Array.from({ length: 100_000 }, (_, i) =>
      entry(`e${i}`, i % 2 === 0 ? 'gone' : `e${(i * 7919) % 100_000}`),
    );
    for (const entries of [same, cycle, orphans]) expect(path(entries).length).toBeGreaterThan(0);
  });
});

describe('the leaf', () => {
  const leaf = (entries: readonly Entry[]): string | undefined => entries[buildTree(entries).leaf]?.id;
  const label = (id: string, parentId: string | null): Entry =>
    entry(id, parentId, { type: 'label', targetId: 'a', label: 'x' });
  const move = (id: string, parentId: string | null): Entry =>
    entry(id, parentId, { type: 'custom', customType: 'reprise.leaf' });

  test('is the last chain entry', () => {
    expect(leaf([entry('a', null), entry('b', 'a')])).toBe('b');
    expect(leaf([entry('a', null), entry('x', 'a', { type: 'unheard_of' })])).toBe('x');
    expect(leaf([entry('a', null), entry('x', 'a', { type: 'custom', customType: 'extension' })])).toBe('x');
    expect(leaf([])).toBeUndefined();
  });

  test('is not moved by side entries that hang at it', () => {
    expect(leaf([entry('a', null), entry('b', 'a'), label('l', 'b')])).toBe('b');
    expect(leaf([entry('a', null), entry('b', 'a'), label('l', 'b'), label('m', 'l')])).toBe('b');
  });

  test('is where reprise.leaf moved it, and null is before the first entry', () => {
    expect(leaf([entry('a', null), entry('b', 'a'), move('m', 'a')])).toBe('a');
    expect(leaf([entry('a', null), move('m', null)])).toBeUndefined();
  });

  test('can be chosen by the caller; an unknown one is an error with a code', () => {
    const list = new EntryList();
    const a = list.user('a');
    list.user('b');
    expect(selectContext(list.entries, { leaf: a }).entries).toHaveLength(1);
    expect(selectContext(list.entries, { leaf: null }).entries).toHaveLength(0);
    expect(() => selectContext(list.entries, { leaf: 'nope' })).toThrow(RepriseError);
  });
});

describe('the context', () => {
  function conversation(): { list: EntryList; ids: string[] } {
    const list = new EntryList();
    const ids = ['a', 'b', 'c', 'd'].map((text) => list.user(text));
    return { list, ids };
  }
  const texts = (list: EntryList): unknown[] =>
    selectContext(list.entries).entries.map(
      (e) => (e['message'] as JsonObject | undefined)?.['content'] ?? e.type,
    );

  test('starts at the first kept entry of the last compaction', () => {
    const { list, ids } = conversation();
    list.add('compaction', { summary: 'S', firstKeptEntryId: ids[2], tokensBefore: 9 });
    list.user('e');
    expect(texts(list)).toEqual(['c', 'd', 'e']);
    expect(selectContext(list.entries).compaction?.['summary']).toBe('S');
  });

  test('an older compaction inside the kept range says nothing', () => {
    const { list, ids } = conversation();
    list.add('compaction', { summary: 'first', firstKeptEntryId: ids[3], tokensBefore: 9 });
    list.user('e');
    list.add('compaction', { summary: 'second', firstKeptEntryId: ids[3], tokensBefore: 9 });
    expect(texts(list)).toEqual(['d', 'compaction', 'e']);
    expect(selectContext(list.entries).compaction?.['summary']).toBe('second');
  });

  test('a compaction that keeps from an entry that is not before it keeps what follows, and that is reported', () => {
    const { list } = conversation();
    list.add('compaction', { summary: 'S', firstKeptEntryId: 'gone', tokensBefore: 9 });
    list.user('e');
    const issues = new IssueLog();
    expect(selectContext(list.entries, { issues }).entries).toHaveLength(1);
    expect(issues.count('missing-first-kept')).toBe(1);
  });

  test('takes model and thinking level from the path', () => {
    const { list } = conversation();
    list.add('model_change', { provider: 'p', modelId: 'm' });
    list.add('thinking_level_change', { thinkingLevel: 'high' });
    expect(selectContext(list.entries)).toMatchObject({
      model: { provider: 'p', modelId: 'm' },
      thinkingLevel: 'high',
    });
    list.assistant(['x'], { provider: 'q', model: 'n' });
    expect(selectContext(list.entries).model).toEqual({ provider: 'q', modelId: 'n' });
  });

  test('T65 takes settings from the whole file, in file order, and a name like __proto__ is data', () => {
    const { list, ids } = conversation();
    const patch = (data: string): string =>
      list.add('custom', { customType: 'reprise.settings', data: JSON.parse(data) as unknown }, ids[0]);
    patch('{"queueMode":"collect","label":"x"}');
    patch('{"queueMode":"steer","label":null,"__proto__":{"isAdmin":true}}');
    const { settings } = selectContext(list.entries);
    expect(JSON.stringify(settings)).toBe('{"queueMode":"steer","__proto__":{"isAdmin":true}}');
    expect(settings['isAdmin']).toBeUndefined();
  });
});
