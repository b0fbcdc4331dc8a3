import type { HistoryRow, SessionView, StreamEvent } from 'reprise/client';
import { describe, expect, test } from 'vitest';
import { formatSessionKey } from '../../src/keys/session-key.ts';
import { TurnEar } from '../../web/src/api/turn-ear.ts';
import { isCommand, matchingCommands } from '../../web/src/conversation/commands.ts';
import { contextParts } from '../../web/src/conversation/context-parts.ts';
import { hearEvent, liveText, NEW_TURN } from '../../web/src/conversation/live-turn.ts';
import { channelOf, isJob, nameOf } from '../../web/src/conversation/session-keys.ts';
import { transcriptItems } from '../../web/src/conversation/transcript-items.ts';
import { whoSaid } from '../../web/src/conversation/who-said.ts';
import { duration, shortCount } from '../../web/src/i18n/format.ts';
import { formatRoute, parseRoute, type Route } from '../../web/src/shell/route.ts';
import { behindPage, matchesText, mergeSessions } from '../../web/src/sidebar/merge-sessions.ts';
import { branches } from '../../web/src/transcript/branches.ts';
import { briefInput } from '../../web/src/transcript/brief-input.ts';
import { layOut, rangeIn, rowAt } from '../../web/src/ui/virtual-range.ts';

const row = (seq: number, role: string, more: Partial<HistoryRow> = {}): HistoryRow => ({
  id: `e${seq}`,
  seq,
  role,
  text: `text ${seq}`,
  timestamp: '2026-01-01T00:00:00.000Z',
  ...more,
});

describe('an answer while it streams', () => {
  const hear = (...events: StreamEvent[]) => events.reduce(hearEvent, NEW_TURN);

  test('joins words, keeps tools in their place, and finds each result its call', () => {
    const turn = hear(
      { type: 'turn_start', turnId: 't', model: 'a/b' },
      { type: 'text_delta', text: 'one ' },
      { type: 'text_delta', text: 'two' },
      { type: 'tool_call', id: 'c', name: 'f', input: { x: 1 } },
      { type: 'tool_call', id: 'c', name: 'f', input: { x: 1 } },
      { type: 'text_delta', text: 'three' },
      { type: 'tool_result', toolCallId: 'c', name: 'f', text: 'ok', isError: false },
    );
    expect(turn.parts.map(({ type }) => type)).toEqual(['text', 'call', 'text']);
    expect(turn.parts[1]).toMatchObject({ id: 'c', result: { text: 'ok', isError: false } });
    expect(liveText(turn)).toBe('one two\n\nthree');
  });

  test('is what was stored of it after an interruption, and starts again with another turn', () => {
    const kept = hear(
      { type: 'turn_start', turnId: 't', model: '' },
      { type: 'text_delta', text: 'lost words' },
      { type: 'interrupted', turnId: 't', text: 'lost' },
      { type: 'text_delta', text: ' and found' },
    );
    expect(liveText(kept)).toBe('lost and found');
    expect(hearEvent(kept, { type: 'turn_start', turnId: 'u', model: '' }).parts).toEqual([]);
    expect(hearEvent(kept, { type: 'from_the_future' } as unknown as StreamEvent)).toBe(kept);
  });

  test('keeps the code of each cause, so that the page can show it in its language', () => {
    const why = { code: 'model.silent', params: { provider: 'p', seconds: 9 } } as const;
    const { parts } = hear(
      { type: 'guard', step: 'overflow', attempt: 1, reason: 'r', why },
      { type: 'compaction_end', tokensBefore: 9, tokensAfter: 9, error: 'r', why },
      { type: 'guard', step: 'retry', attempt: 1, reason: 'r', why },
    );
    expect(parts).toMatchObject([{ note: { why } }, { note: { why } }, { note: { why } }]);
  });
});

describe('several streams of one turn', () => {
  test('make one answer, whichever arrives first, and the next turn makes its own', () => {
    const ear = new TurnEar();
    const [a, b, c] = [{}, {}, {}];
    const start: StreamEvent = { type: 'turn_start', turnId: 't', model: '' };
    const word = (text: string): StreamEvent => ({ type: 'text_delta', text });
    for (const by of [a, b]) ear.hear(by, start);
    for (const by of [b, a]) ear.hear(by, word('one '));
    for (const by of [a, b]) ear.hear(by, word('two'));
    expect(ear.turn && liveText(ear.turn)).toBe('one two');
    ear.forget(b);
    expect(ear.isListening).toBe(true);
    ear.hear(c, { type: 'turn_start', turnId: 'u', model: '' });
    ear.hear(c, word('three'));
    ear.forget(a);
    expect(ear.turn && liveText(ear.turn)).toBe('three');
    ear.forget(c);
    expect(ear.turn).toBeUndefined();
  });

  test('a stream that joins in the middle is used without its beginning', () => {
    const ear = new TurnEar();
    ear.hear({}, { type: 'session', sessionId: 's', sessionKey: 'k' });
    expect(ear.isListening).toBe(false);
    ear.hear({}, { type: 'text_delta', text: 'half' });
    expect(ear.turn && liveText(ear.turn)).toBe('half');
  });
});

describe('a history as people see it', () => {
  test('a result stands with its call, and the end of a turn with its last answer', () => {
    const items = transcriptItems([
      row(1, 'user'),
      row(2, 'assistant', { toolCalls: [{ id: 'c', name: 'f', input: {} }] }),
      row(3, 'toolResult', { toolCallId: 'c', toolName: 'f', isError: false }),
      row(4, 'assistant'),
      row(5, 'custom', {
        details: { customType: 'reprise.turn', data: { turnId: 't', status: 'done' } },
      }),
    ]);
    expect(items.map(({ type }) => type)).toEqual(['message', 'answer', 'answer']);
    expect(items[1]).toMatchObject({ tools: [{ id: 'c', result: { id: 'e3' } }] });
    expect(items[2]).toMatchObject({ turn: { turnId: 't', status: 'done' } });
  });

  test('each call has its own result, also of a provider that numbers its calls from 1 in every turn', () => {
    const call = { toolCalls: [{ id: 'call_0', name: 'f', input: {} }] };
    const items = transcriptItems([
      row(1, 'assistant', call),
      row(2, 'toolResult', { toolCallId: 'call_0' }),
      row(3, 'assistant', call),
      row(4, 'toolResult', { toolCallId: 'call_0' }),
      row(5, 'assistant', call),
    ]);
    const results = items.map((item) => item.type === 'answer' && item.tools.map(({ result }) => result?.id));
    expect(results).toEqual([['e2'], ['e4'], [undefined]]);
  });

  test('a turn that did not end well, a shortened result, an undo and a reset are marked', () => {
    const custom = (seq: number, customType: string, data: object): HistoryRow =>
      row(seq, 'custom', { details: { customType, data } });
    const items = transcriptItems([
      row(1, 'user'),
      custom(2, 'reprise.turn', { status: 'interrupted' }),
      custom(8, 'reprise.turn', { status: 'error', error: { message: 'it broke' } }),
      row(3, 'context_edit', { details: { targetId: 'x' } }),
      row(4, 'context_edit', { details: { targetId: 'y' } }),
      // Twice: the last of them is the one that can be redone.
      custom(5, 'reprise.leaf', { undoes: 'e1' }),
      custom(9, 'reprise.leaf', { undoes: 'e0' }),
      custom(6, 'reprise.reset', { next: 's2' }),
      custom(7, 'reprise.settings', {}),
    ]);
    expect(items.flatMap((item) => (item.type === 'mark' ? [item.mark] : []))).toMatchObject([
      { kind: 'turn', turn: { status: 'interrupted' }, isLast: false },
      { kind: 'turn', turn: { status: 'error', error: { message: 'it broke' } }, isLast: true },
      { kind: 'shortened', count: 2 },
      { kind: 'leaf' },
      { kind: 'reset', next: 's2' },
    ]);
  });

  test('the first item of a branch shows which branch it is', () => {
    const leaf = (seq: number, data: object): HistoryRow =>
      row(seq, 'custom', { details: { customType: 'reprise.leaf', data } });
    const items = transcriptItems([
      row(1, 'user'),
      leaf(4, { undoes: 'e3' }),
      row(5, 'user', { branches: ['e2', 'e5', 'e9'] }),
      row(6, 'model_change', { branches: ['e6', 'e7'] }),
      row(8, 'assistant'),
      leaf(11, { undoes: 'e10', branch: true }),
    ]);
    // An undo after which something was sent, and a branch that was chosen, are no separate lines.
    expect(items.map((item) => [item.key, 'fork' in item && item.fork])).toEqual([
      ['e1', false],
      ['e5', { ids: ['e2', 'e5', 'e9'], at: 1 }],
      ['e8', { ids: ['e6', 'e7'], at: 0 }],
    ]);
  });

  test('the messages of a summary are folded under one line, and return when it is undone', () => {
    const compacted = { compacted: true };
    const facts = {
      tokensBefore: 80_000,
      tokensAfter: 5000,
      // `text` was added after what the model left out.
      details: { coveredEntries: 2, recall: { total: 9, found: 3, missing: ['lost', 'text'], unlisted: 4 } },
    };
    const rows = [
      row(1, 'user', compacted),
      row(2, 'assistant', compacted),
      row(3, 'user'),
      row(4, 'compaction', { details: facts }),
      row(5, 'assistant'),
    ];
    const [fold, ...rest] = transcriptItems(rows);
    expect(fold).toMatchObject({
      type: 'fold',
      compaction: { summary: 'text 4', coveredEntries: 2, recall: { total: 9, found: 4, missing: ['lost'] } },
    });
    expect(fold?.type === 'fold' && fold.hidden.map(({ key }) => key)).toEqual(['e1', 'e2']);
    expect(rest.map(({ key }) => key)).toEqual(['e3', 'e5']);
    const undone = [
      row(1, 'user'),
      row(2, 'assistant'),
      row(3, 'compaction'),
      row(4, 'compaction', { details: { details: { undoes: 'e3' } } }),
    ];
    expect(transcriptItems(undone).map(({ type }) => type)).toEqual(['message', 'answer', 'mark']);
    const redone = [
      ...rows,
      row(6, 'compaction', { text: '', details: { details: { undoes: 'e4' } } }),
      row(7, 'compaction', { text: 'text 4', details: { details: { redoes: 'e4' } } }),
    ];
    const [again, ...others] = transcriptItems(redone);
    expect(again).toMatchObject({ compaction: { id: 'e7', coveredEntries: 2, tokensBefore: 80_000 } });
    expect(others.map(({ key }) => key)).toEqual(['e3', 'e5']);
  });
});

test('the tree has one line for each stretch, and each leads to its newest end', () => {
  const node = (id: string, parentId: string | null, current = false) => ({
    id,
    parentId,
    role: 'user',
    text: id,
    timestamp: '',
    current,
  });
  const list = branches([
    node('a', null, true),
    node('b', 'a', true),
    node('c', 'b'),
    node('d', 'c'),
    node('e', 'b', true),
    node('f', 'missing'),
  ]);
  expect(
    list.map(({ depth, first, leaf, count, isCurrent }) => [depth, first.id, leaf, count, isCurrent]),
  ).toEqual([
    [0, 'a', 'e', 2, true],
    [1, 'c', 'd', 2, false],
    [1, 'e', 'e', 1, true],
    [0, 'f', 'f', 1, false],
  ]);
  const deep = Array.from({ length: 50_000 }, (_, i) => node(`n${i}`, i === 0 ? null : `n${i - 1}`));
  expect(branches(deep)).toHaveLength(1);
});

test('rows of any height are found at their position', () => {
  const layout = layOut(10_000, (i) => 20 + (i % 7));
  for (const i of [0, 1, 77, 9998, 9999]) {
    expect(rowAt(layout, layout.offsets[i] ?? 0)).toBe(i);
    expect(rowAt(layout, (layout.offsets[i + 1] ?? 0) - 1)).toBe(i);
  }
  const { start, end } = rangeIn(layout, 50_000, 800, 400);
  expect(layout.offsets[start]).toBeLessThanOrEqual(49_600);
  expect(layout.offsets[end]).toBeGreaterThanOrEqual(51_200);
  expect(end - start).toBeLessThan(90);
  expect(
    rangeIn(
      layOut(0, () => 1),
      0,
      800,
      400,
    ),
  ).toEqual({ start: 0, end: 0 });
});

test('an address contains the state of the page, whatever ids are', () => {
  const routes: Route[] = [
    { view: 'new' },
    { view: 'chats' },
    { view: 'session', agentId: 'main', sessionId: 'a.b_c-1' },
    { view: 'session', agentId: 'main', sessionId: 's', entry: '12' },
    { view: 'session', agentId: 'a/b', sessionId: '#%', entry: 'é/' },
  ];
  for (const to of routes) expect(parseRoute(formatRoute(to))).toEqual(to);
  for (const broken of ['', '#', '#/s', '#/s/main', '#/x/y', '#/s/%E0%A4%A/x'])
    expect(parseRoute(broken)).toEqual({ view: 'new' });
});

test('sessions are merged newest first, found by name, and distinguished by their keys', () => {
  const session = (id: string, lastAt: string, more: Partial<SessionView> = {}): SessionView =>
    ({ id, lastAt, title: `Title ${id}`, sessionKey: 'agent:main:main', ...more }) as SessionView;
  const merged = mergeSessions(
    [session('a', '1'), session('b', '2')],
    [session('a', '3'), session('c', '0')],
  );
  expect(merged.map(({ id }) => id)).toEqual(['a', 'b', 'c']);
  // Those of one moment are distinguished by their ids: what follows the last of a page is not lost.
  const known = ['d', 'c', 'b', 'a'].map((id) => session(id, '2'));
  const page = { data: [session('e', '3'), session('c', '2')], hasMore: true };
  expect(behindPage(known, page).map(({ id }) => id)).toEqual(['b', 'a']);
  expect(behindPage(known, { ...page, hasMore: false })).toEqual([]);
  expect(matchesText(session('a', '1', { label: 'Plans' }), ' PLAN ')).toBe(true);
  expect(matchesText(session('a', '1'), 'zz')).toBe(false);
  // One that was begun and not used yet has nothing to be called by.
  expect(nameOf(session('a', '1', { title: '', messageCount: 0 }))).toBe('New chat');
  expect(nameOf(session('a', '1', { title: '', messageCount: 2 }))).toBe('a');
  expect(isJob({ sessionKey: 'agent:main:subagent:x' })).toBe(true);
  expect(isJob({ sessionKey: 'agent:main:telegram:direct:subagent' })).toBe(false);
  expect(channelOf({ sessionKey: 'agent:main:telegram:group:1' })).toBe('telegram');
  expect(channelOf({ sessionKey: 'agent:main:session:telegram' })).toBeUndefined();
  for (const channel of ['a:b/100%', 'x\u2028y', 'main'])
    expect(
      channelOf({ sessionKey: formatSessionKey({ kind: 'group', agentId: 'main', channel, id: '1' }) }),
    ).toBe(channel);
});

test('commands are offered while their name is typed; paths and escapes are messages', () => {
  const known = [
    { name: 'new', aliases: ['reset'] },
    { name: 'model', aliases: [] },
  ] as never[];
  expect(matchingCommands('/', known)).toHaveLength(2);
  expect(matchingCommands('/re', known)).toMatchObject([{ name: 'new' }]);
  expect(matchingCommands('/new x', known)).toBeUndefined();
  expect(matchingCommands('hi /', known)).toBeUndefined();
  expect(['/new', '/compact a b', '/x\ny'].every(isCommand)).toBe(true);
  expect(['//new', '/usr/bin', '/ 2', 'a /new', '/)'].some(isCommand)).toBe(false);
});

test('the bar of the context is never longer than its window', () => {
  const report = {
    tokens: 300,
    window: { tokens: 200, source: '' },
    budget: 150,
    reserve: 10,
    messages: 1,
    split: { system: 50, history: 100, tools: 0 },
  };
  const { parts, mark } = contextParts(report);
  expect(parts.map(({ name }) => name)).toEqual(['system', 'history']);
  expect(parts.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(100);
  expect(mark).toBe(75);
});

test('numbers and arguments are short enough for a line', () => {
  expect([0, 999, 1000, 1234, 9999, 80_000, 999_999, 2_400_000].map(shortCount)).toEqual([
    '0',
    '999',
    '1k',
    '1.2k',
    '10k',
    '80k',
    '1M',
    '2.4M',
  ]);
  expect([3, 1500, 61_000].map(duration)).toEqual(['3 ms', '1.5 s', '1 min 1 s']);
  expect(briefInput({ path: 'a\n b' })).toBe('a b');
  expect(briefInput({ a: 1, b: 'x' })).toBe('a: 1, b: x');
  expect(briefInput(undefined)).toBe('');
  expect(briefInput({ x: 'y'.repeat(500) }).length).toBeLessThan(130);
});

test.each([
  ['agent:main:telegram:group:7', { author: 'Ada', said: 'call me' }],
  ['agent:main:telegram:bot:channel:7:thread:1', { author: 'Ada', said: 'call me' }],
  ['agent:main:telegram:direct:7', { isAnybody: true, said: '[Ada] call me' }],
  ['agent:main:group:direct:7', { isAnybody: true, said: '[Ada] call me' }],
  ['agent:main:telegram:direct:group:thread:1', { isAnybody: true, said: '[Ada] call me' }],
  ['agent:main:session:s', { said: '[Ada] call me' }],
])('nobody is called by a name they wrote themselves: %s', (sessionKey, told) => {
  expect(whoSaid('[Ada] call me', { sessionKey })).toEqual(told);
  if ('author' in told) expect(whoSaid('I am the owner', { sessionKey })).toEqual({ said: 'I am the owner' });
});
