import assert from 'node:assert/strict';
import type { SearchHit, SearchQuery } from '../../../src/store/port/search.ts';
import type { Store } from '../../../src/store/port/store.ts';
import { assistant, beforeAndAfter, compaction, note, PATIENT, session, user, within } from '../kit.ts';
import type { StoreCase } from '../store-case.ts';

/* What a search finds. No case waits for an index: committed entries are found immediately, with or without one. */

export const searchCases: readonly StoreCase[] = [
  {
    name: 'search finds words in any script, ignoring case',
    promise: 'P9: users find messages',
    area: 'search',
    async run({ store, reopen }) {
      const id = await session(store, [
        'The Quick brown fox',
        '明天的会议改到下午',
        'ПРИВЕТ мир',
        'ΟΔΟΣ και ΟΔΟΣΑ',
        'سلام دنیا',
        'สวัสดีชาวโลก',
        'nothing here',
      ]);
      for await (const open of beforeAndAfter({ store, reopen })) {
        await finds(open, 'quick BROWN', [[id, 2]]);
        await finds(open, '会议', [[id, 3]]);
        await finds(open, 'привет', [[id, 4]]);
        await finds(open, 'οδοσ', [[id, 5]]);
        await finds(open, 'οδοσα', [[id, 5]]);
        await finds(open, 'دنیا', [[id, 6]]);
        await finds(open, 'ชาว', [[id, 7]]);
        await finds(open, 'absent words', []);
      }
    },
  },
  {
    name: 'a search finds texts that contain all of its words, in any order, also inside of words',
    promise: 'P9: users find messages',
    area: 'search',
    async run({ store }) {
      const id = await session(store, ['red fox and blue bird', 'a red bird', 'a blue foxglove', 'reduced']);
      await finds(store, 'bird red', [
        [id, 3],
        [id, 2],
      ]);
      await finds(store, 'red blue', [[id, 2]]);
      await finds(store, 'fox', [
        [id, 4],
        [id, 2],
      ]);
      await finds(store, ' \n red\tred  RED ', [
        [id, 5],
        [id, 3],
        [id, 2],
      ]);
      await finds(store, 'red green', []);
    },
  },
  {
    name: 'words in quotation marks match together, whatever white space separates them',
    promise: 'P9: users find messages',
    area: 'search',
    async run({ store }) {
      const id = await session(store, ['red fox', 'fox, red', 'a red\n  fox ran', 'ran: the red fox']);
      const all = [5, 4, 3, 2].map((seq) => [id, seq] as const);
      await finds(store, 'red fox', all);
      await finds(store, '"red fox"', [
        [id, 5],
        [id, 4],
        [id, 2],
      ]);
      await finds(store, '"RED   fox" "ran"', [
        [id, 5],
        [id, 4],
      ]);
      await finds(store, '"fox ran"', [[id, 4]]);
    },
  },
  {
    name: 'search takes its words literally',
    promise: 'P8: a query is text, not a program',
    area: 'search',
    async run({ store }) {
      const id = await session(store, [
        'it is 100%_sure',
        'it is 100 times unsure',
        'say "AND (x OR" now',
        "it's; DROP",
        'text* and col:umn -minus NEAR(a b) ^start',
      ]);
      await finds(store, '100%_s', [[id, 2]]);
      await finds(store, '"AND (x OR"', [[id, 4]]);
      await finds(store, 'say "AND', [[id, 4]]);
      await finds(store, 'OR" now', [[id, 4]]);
      await finds(store, "it's; DROP", [[id, 5]]);
      await finds(store, 'text*', [[id, 6]]);
      await finds(store, 'col:umn -minus near(a ^start', [[id, 6]]);
      await finds(store, 'NOT', []);
      await finds(store, '%', [[id, 2]]);
      await finds(store, '_', [[id, 2]]);
      await finds(store, '*', [[id, 6]]);
      await finds(store, '""', []);
    },
  },
  {
    name: 'code is found with its punctuation',
    promise: 'P9: users find messages',
    area: 'search',
    async run({ store }) {
      const id = await session(store, [
        'call foo.bar(baz) first',
        'call foo bar baz first',
        'run it with --dry-run -x',
        'see #tag and C++ and c#',
        'an identifier_with_underscores and camelCase',
        'path/to/file.ts:42 C:\\temp\\x',
        'if (a && b || !c) { return "x"; }',
      ]);
      await finds(store, 'foo.bar(', [[id, 2]]);
      await finds(store, '--dry', [[id, 4]]);
      await finds(store, '#tag', [[id, 5]]);
      await finds(store, 'c++', [[id, 5]]);
      await finds(store, 'C#', [[id, 5]]);
      await finds(store, 'with_under', [[id, 6]]);
      await finds(store, 'lcase', [[id, 6]]);
      await finds(store, 'file.ts:42', [[id, 7]]);
      await finds(store, '\\temp\\', [[id, 7]]);
      await finds(store, '&& ||', [[id, 8]]);
      await finds(store, '"x";', [[id, 8]]);
    },
  },
  {
    name: 'one or two characters are enough, at any position and in any script',
    promise: 'P9: users find messages',
    area: 'search',
    async run({ store }) {
      const id = await session(store, [
        '猫',
        '我有两只猫',
        'go',
        'ago',
        'go 😀',
        '👩‍👩‍👧 family',
        'é',
        '\u0130',
      ]);
      await finds(store, '猫', [
        [id, 3],
        [id, 2],
      ]);
      await finds(store, '只猫', [[id, 3]]);
      await finds(store, 'Go', [
        [id, 6],
        [id, 5],
        [id, 4],
      ]);
      await finds(store, '😀', [[id, 6]]);
      await finds(store, '👩', [[id, 7]]);
      await finds(store, 'É', [[id, 8]]);
      await finds(store, 'i\u0307', [[id, 9]]);
      await finds(store, 'y', [[id, 7]]);
    },
  },
  {
    name: 'messages, answers, tool results and summaries are found; other entries are not',
    promise: 'P9: users find messages',
    area: 'search',
    async run({ store }) {
      const id = await session(store, []);
      const call = { type: 'toolCall', id: 'c1', name: 'wombat', arguments: { path: 'wombat.txt' } };
      const thinking = { type: 'thinking', thinking: 'a wombat, I think' };
      const text = { type: 'text', text: 'answered: wombat' };
      const result = { role: 'toolResult', toolCallId: 'c1', toolName: 'wombat' };
      await store.append(id, [
        user('sent: wombat'),
        { type: 'message', message: { role: 'assistant', content: [thinking, text] } },
        { type: 'message', message: { role: 'assistant', content: [thinking, call] } },
        { type: 'message', message: { ...result, content: [{ type: 'text', text: 'returned: wombat' }] } },
        { type: 'custom_message', customType: 'x', content: 'noted: wombat', display: true },
        note('test', { wombat: 'wombat' }),
        { type: 'session_info', name: 'a wombat in the title' },
      ]);
      const first = (await store.read(id, { from: 2, limit: 1 })).entries[0]?.entry as { id: string };
      await store.append(id, [compaction('summarized: wombat', first.id)]);
      await store.patch(id, { label: 'wombat' });
      const { hits } = await store.search({ text: 'wombat', ...PATIENT });
      assert.deepEqual(
        hits.map(({ seq, role, snippet }) => [seq, role, snippet]),
        [
          [9, 'summary', 'summarized: wombat'],
          [6, 'note', 'noted: wombat'],
          [5, 'tool', 'returned: wombat'],
          [3, 'assistant', 'answered: wombat'],
          [2, 'user', 'sent: wombat'],
        ],
      );
    },
  },
  {
    name: 'a hit has its session, seq and time, and shows the match',
    promise: 'P9: users find messages',
    area: 'search',
    async run({ store }) {
      const id = await session(store, []);
      const far = 'far away '.repeat(200);
      await store.append(id, [assistant(`${far}\n\nthe RED\tfox, ${far}red`)]);
      const [hit] = (await store.search({ text: 'fox red', ...PATIENT })).hits;
      assert.ok(hit !== undefined);
      const [stored] = (await store.read(id, { from: 2, limit: 1 })).entries;
      assert.ok(stored !== undefined && stored.entry.type !== 'session');
      assert.deepEqual(
        { id: hit.id, seq: hit.seq, entryId: hit.entryId, at: hit.at },
        { id, seq: 2, entryId: stored.entry.id, at: stored.entry.timestamp },
      );
      assert.ok(hit.snippet.includes('away the RED fox, far'), hit.snippet);
      assert.ok(hit.snippet.length <= 400, 'a piece, not the whole text');
      assert.deepEqual(marked(hit), ['RED', 'fox']);
    },
  },
  {
    name: 'no input makes a search fail or hang',
    promise: 'P8: a query is text, not a program',
    area: 'search',
    async run({ store }) {
      const id = await session(store, [
        'plain words',
        'a\u0000b',
        'half \ud83d here',
        'quote " and \\ slash',
      ]);
      await finds(store, 'a\u0000b', [[id, 3]]);
      await finds(store, '"', [[id, 5]]);
      await finds(store, '\\', [[id, 5]]);
      for (const text of HOSTILE) {
        const result = await within(
          store.search({ text }),
          `an answer to ${JSON.stringify(text).slice(0, 40)}`,
        );
        assert.equal(result.complete, result.reason === undefined, 'a lack has a reason');
        for (const hit of result.hits) assert.equal(hit.id, id);
      }
      for (const text of ['', ' ', '\n\t'])
        assert.deepEqual(await store.search({ text, ...PATIENT }), { hits: [], next: null, complete: true });
    },
  },
  {
    name: 'half a character does not match a whole one',
    promise: 'P9: users find messages',
    area: 'search',
    async run({ store }) {
      const id = await session(store, ['half \ud83d here', 'whole 😀 here']);
      await finds(store, 'here', [
        [id, 3],
        [id, 2],
      ]);
      await finds(store, '\ud83d', [[id, 2]]);
      await finds(store, 'half \ud83d', [[id, 2]]);
    },
  },
];

const HOSTILE: readonly string[] = [
  '"',
  '""',
  '"""',
  '" "',
  '"unbalanced phrase',
  'AND OR NOT NEAR',
  'NEAR(',
  '(((',
  '* ^ : - +',
  'text:plain',
  '{text}: words',
  "'; DROP TABLE sessions; --",
  '%'.repeat(1000),
  '"a '.repeat(3000),
  'x'.repeat(16_000),
  Array.from({ length: 2000 }, (_, i) => `w${i}`).join(' '),
  '\u0000',
  '\u0000\u0000\u0000\u0000',
  '\udc00\ud83d',
  '\uffff\ufffe\ufffd',
  '👩‍👩‍👧‍👦'.repeat(100),
  'e\u0301'.repeat(500),
  '\u202e\u2066',
];

/** Expects the hits at once: a search must find what was committed before it. */
export async function finds(
  store: Store,
  query: string | SearchQuery,
  expected: readonly (readonly [string, number])[],
): Promise<void> {
  const asked = typeof query === 'string' ? { text: query } : query;
  const { hits, complete, reason } = await store.search({ ...PATIENT, ...asked });
  const what = JSON.stringify(asked).slice(0, 80);
  assert.deepEqual(
    hits.map(({ id, seq }) => [id, seq] as const),
    expected,
    what,
  );
  assert.deepEqual([complete, reason], [true, undefined], what);
}

function marked({ snippet, marks }: SearchHit): string[] {
  return marks.map(([from, to]) => snippet.slice(from, to));
}
