import { describe, expect, test } from 'vitest';
import type { Entry } from '../../src/transcript/entry.ts';
import { messageName, messagePositions, parsePosition } from '../../src/transcript/message-position.ts';

const at = '2026-01-01T00:00:00.000Z';
const entry = (id: string, parentId: string | null, role: string): Entry =>
  ({ type: 'message', id, parentId, timestamp: at, message: { role, content: id } }) as unknown as Entry;
const other = (id: string, parentId: string | null, type: string): Entry =>
  ({ type, id, parentId, timestamp: at, summary: 's', firstKeptEntryId: 'c' }) as unknown as Entry;

/** a user, b answer, r tool result, k compaction, c user; d left branch beside e. */
const HISTORY = [
  entry('a', null, 'user'),
  entry('b', 'a', 'assistant'),
  entry('r', 'b', 'toolResult'),
  other('k', 'r', 'compaction'),
  entry('c', 'k', 'user'),
  entry('d', 'c', 'assistant'),
  entry('e', 'c', 'assistant'),
];

describe('the position of a message', () => {
  test('counts user and assistant messages of the current branch, compacted ones included', () => {
    const positions = messagePositions(HISTORY);
    expect(positions.count).toBe(4);
    expect(['a', 'b', 'r', 'k', 'c', 'd', 'e'].map((id) => positions.of(id))).toEqual([
      1,
      2,
      undefined,
      undefined,
      3,
      undefined,
      4,
    ]);
    expect([1, 4, 5].map((position) => positions.idAt(position))).toEqual(['a', 'e', undefined]);
  });

  test('of another branch is counted to its leaf', () => {
    expect(messagePositions(HISTORY, 'd').idAt(4)).toBe('d');
  });

  test('is what a person reads; a message of another branch keeps its id', () => {
    const positions = messagePositions(HISTORY);
    expect(['c', 'd'].map((id) => messageName(positions, id))).toEqual(['#3', '[d]']);
  });

  test('is typed as # and a number from 1', () => {
    expect(['#3', '#10', '#0', '3', '#', '#3x', '##3'].map(parsePosition)).toEqual([
      3,
      10,
      ...Array.from({ length: 5 }, () => undefined),
    ]);
  });
});
