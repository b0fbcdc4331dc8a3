import { describe, expect, test } from 'vitest';
import { estimateTextTokens } from '../../src/context/estimate.ts';
import type { ModelRequest } from '../../src/exports/models.ts';
import { type ProjectedMessage, project } from '../../src/exports/transcript.ts';
import { createModel } from '../../src/index.ts';
import { createOfflineModel } from '../../src/models/offline/offline-model.ts';
import { EntryList } from '../support/engine/entries.ts';
import { asking, assistant, READ_FILE, requestFor, run, textOf, user } from '../support/engine/models.ts';
import { cpuTimer } from '../support/engine/time-spent.ts';

const model = createOfflineModel();
const LIST = { name: 'list_directory', inputSchema: { type: 'object', properties: { path: {} } } };
const WRITE = {
  name: 'write_file',
  inputSchema: { type: 'object', properties: { file_path: {}, content: {} } },
};
const TOOLS = [READ_FILE, LIST, WRITE];

describe('the offline model', () => {
  test('says what it is, and does not pretend', async () => {
    for (const question of ['Who are you?', 'what are you', 'Are you Claude?'])
      expect(await textOf(model, asking(question))).toMatch(/offline model.*without network/s);
  });

  test.each([
    ['my name is Ada Lovelace.', 'What is my name?', 'Ada Lovelace'],
    ['Call me Bob', 'who am I?', 'Bob'],
    ['The code word is blue-42!', 'what is the code word?', 'blue-42'],
    ['Hello. Our deploy target was eu-west-1; thanks', 'Do you remember our deploy target?', 'eu-west-1'],
  ])('remembers %s', async (fact, question, value) => {
    expect(await textOf(model, asking(fact, 'noted', 'and the weather?', 'well', question))).toContain(value);
  });

  test('takes the newest word for it, and knows nothing that was not sent', async () => {
    const text = await textOf(
      model,
      asking('my name is Ada', 'hi', 'my name is Eve', 'hi', 'what is my name?'),
    );
    expect(text).toContain('Eve');
    expect(text).not.toContain('Ada');
    const own = await textOf(model, asking('hello'));
    for (const request of [asking('what is my name?'), asking('hello', own, 'what is my name?')])
      expect(await textOf(model, request)).toMatch(/nothing in the messages/i);
    const carried = [
      user('go on'),
      assistant('[Session Compaction Summary]\nMy name is Zoe.'),
      user('who am I?'),
    ];
    expect(await textOf(model, { messages: carried })).toContain('Zoe');
  });

  test('repeats the message', async () => {
    const conversation = ['first thing', 'ok', 'second thing about cats', 'ok'] as const;
    const ask = (question: string): Promise<string> => textOf(model, asking(...conversation, question));
    expect(await ask('What did I say?')).toBe('You said:\n1. first thing\n2. second thing about cats');
    expect(await ask('what did I say first?')).toBe('The first thing you said: "first thing"');
    expect(await ask('what did I say about cats?')).toBe('You said: "second thing about cats"');
    expect(await ask('what did I say about dogs?')).toBe('You said nothing about dogs.');
    expect(await ask('repeat after me: "hello there"')).toBe('hello there');
    expect(await ask('how many messages are there?')).toBe('I was sent 5 messages.');
    expect(await ask('strange input')).toContain('strange input');
  });

  test('is a function of the request alone', async () => {
    const request = { ...asking('call read_file with {"path":"a"}'), tools: TOOLS };
    const first = await run(model, request);
    await run(model, asking('something else'));
    expect((await run(createOfflineModel(), request)).events).toEqual(first.events);
    const other = await run(model, { ...asking('x', 'y', 'call read_file with {"path":"a"}'), tools: TOOLS });
    const ids = [first, other].map(
      ({ finish }) => JSON.stringify(finish?.message.content).match(/offline_\w+/)?.[0],
    );
    expect(new Set(ids).size).toBe(2);
  });

  test.each<[string, string, object]>([
    ['Please read the file notes.txt.', 'read_file', { path: 'notes.txt' }],
    ['read src/index.ts', 'read_file', { path: 'src/index.ts' }],
    ['show me "a-b.md"', 'read_file', { path: 'a-b.md' }],
    ['read the file LICENSE', 'read_file', { path: 'LICENSE' }],
    ['List files', 'list_directory', { path: '.' }],
    ['list the files in src/models', 'list_directory', { path: 'src/models' }],
    ['write "two words" to the file a.txt', 'write_file', { file_path: 'a.txt', content: 'two words' }],
    [
      'call write_file with {"file_path":"a","content":"{\\"}"}',
      'write_file',
      { file_path: 'a', content: '{"}' },
    ],
    ['Call the tool list_directory', 'list_directory', {}],
  ])('calls a tool when asked: %s', async (ask, name, input) => {
    const { finish, events } = await run(model, { ...asking(ask), tools: TOOLS });
    expect(
      events.flatMap((event) => (event.type === 'tool_call' ? [[event.name, event.input]] : [])),
    ).toEqual([[name, input]]);
    expect(finish?.stopReason).toBe('toolUse');
  });

  test('calls several at once, and badly when asked to', async () => {
    const ask = 'call read_file with {"path":"a"} and call read_file with {"path":"b"}';
    const { finish } = await run(model, { ...asking(ask), tools: TOOLS });
    const calls = finish?.message.content.filter(({ type }) => type === 'toolCall');
    expect(calls?.map((block) => 'arguments' in block && block.arguments)).toEqual([
      { path: 'a' },
      { path: 'b' },
    ]);
    const bad = await run(model, { ...asking('call read_file with {"path": oops'), tools: TOOLS });
    expect(bad.events.find(({ type }) => type === 'tool_call')).toMatchObject({
      rawArguments: '{"path": oops',
    });
  });

  test.each([
    ['read the file a.txt', /not offered a tool called read_file/],
    ['call launch with {"n":1}', /not offered a tool called launch/],
    ['please read this aloud', /You said/],
    ['call me maybe', /You said/],
  ])('does not call what is not there: %s', async (ask, said) => {
    const { events, answer } = await run(model, asking(ask));
    expect(answer.text).toMatch(said);
    expect(events.some(({ type }) => type === 'tool_call')).toBe(false);
  });

  test('reports the result of a tool, in words of the tool', async () => {
    const list = new EntryList();
    list.user('read the file a.txt');
    const first = await run(model, { ...requestFor(model, list.entries), tools: TOOLS });
    list.message({ ...first.finish?.message });
    const id = JSON.stringify(first.finish?.message.content).match(/"id":"([^"]+)"/)?.[1] ?? '';
    list.result(id, 'the content', { toolName: 'read_file' });
    expect(await textOf(model, requestFor(model, list.entries))).toBe('read_file said:\nthe content');
    list.user('thanks');
    expect((await run(model, requestFor(model, list.entries))).finish?.stopReason).toBe('stop');
  });

  test('hears the last of several users, and not what a summary quotes', async () => {
    const list = new EntryList();
    const kept = list.user('old');
    list.add('compaction', { summary: '- my name is Ada.\n- read the file x.txt', firstKeptEntryId: kept });
    const resumed = {
      messages: project(list.entries.slice(1), { target: model.target }).messages,
      tools: TOOLS,
    };
    expect((await run(model, resumed)).finish?.stopReason).toBe('stop');
    list.user('hello');
    list.user('what is my name?');
    const request = { messages: project(list.entries, { target: model.target }).messages, tools: TOOLS };
    expect(request.messages).toHaveLength(1);
    expect(await textOf(model, request)).toContain('Ada');
  });

  test('counts tokens with the estimator', async () => {
    const { finish, answer } = await run(model, { ...asking('hello there'), system: 'Be brief.' });
    expect(finish?.usage?.output).toBe(estimateTextTokens(answer.text));
    const longer = await run(model, { ...asking('hello there'), system: 'Be brief. '.repeat(100) });
    const grown = (longer.finish?.usage?.input ?? 0) - (finish?.usage?.input ?? 0);
    expect(grown).toBe(estimateTextTokens('Be brief. '.repeat(100)) - estimateTextTokens('Be brief.'));
  });

  test('refuses what is above its window, as a provider would', async () => {
    const small = createOfflineModel({ contextWindow: 500 });
    expect((await run(small, asking('short'))).error).toBeUndefined();
    const { error, events } = await run(small, asking('word '.repeat(2000)));
    expect(error).toMatchObject({
      code: 'CONTEXT_OVERFLOW',
      details: { limit: 500, status: 400, retryable: false },
    });
    expect(error?.details['actual']).toBeGreaterThan(500);
    expect(events).toEqual([]);
  });

  test('stops for length where there is no more room', async () => {
    const { finish, answer } = await run(model, {
      ...asking('say '.padEnd(400, 'word ')),
      maxOutputTokens: 10,
    });
    expect(finish?.stopReason).toBe('length');
    expect(estimateTextTokens(answer.text)).toBeLessThanOrEqual(10);
    expect(answer.text.length).toBeGreaterThan(10);
    expect((await run(createOfflineModel({ maxOutput: 5 }), asking('who are you?'))).finish?.stopReason).toBe(
      'length',
    );
  });
});

describe('a summary of the offline model', () => {
  const said: ProjectedMessage[] = [
    user('Help me move the shop to eu-west-1. My name is Ada.'),
    assistant('Gladly. We must keep order 48213 in src/shop/orders.ts.'),
    user('We decided to use SQLite. Which port is it on?'),
    assistant('I do not know.'),
  ];
  const SYSTEM = 'You summarize conversations for later use.';

  test('keeps facts, decisions, questions and identifiers, and fits its room', async () => {
    const request = { system: SYSTEM, messages: [...said, user('Summarise the conversation above.')] };
    const text = await textOf(model, request);
    for (const kept of ['Ada', 'eu-west-1', '48213', 'src/shop/orders.ts', 'SQLite', 'Which port is it on?'])
      expect(text).toContain(kept);
    const short = await textOf(model, { ...request, maxOutputTokens: 60 });
    expect(estimateTextTokens(short)).toBeLessThanOrEqual(60);
    expect(short.length).toBeGreaterThan(20);
  });

  test('is made from a conversation inside one message too', async () => {
    const inside =
      '[user]: Move the shop to eu-west-1.\n[assistant]: Done in src/shop.ts.\n[user]: And the port?';
    const request: ModelRequest = {
      messages: [user(`Summarize this conversation:\n\n<conversation>\n${inside}\n</conversation>`)],
    };
    const text = await textOf(model, request);
    expect(text).toContain('## Goal\n- Move the shop to eu-west-1.');
    expect(text).toContain('## Open questions\n- And the port?');
    expect(text).not.toContain('Summarize this');
  });

  test('carries a summary of itself on', async () => {
    let text = await textOf(model, { system: SYSTEM, messages: [...said, user('Summarise.')] });
    for (let i = 0; i < 5; i++) {
      const next = [user(`<conversation>\n${text}\nUser: step ${i} is done.\n</conversation>\nSummarise.`)];
      text = await textOf(model, { system: SYSTEM, messages: next });
    }
    expect(text).toContain('My name is Ada');
  });

  test('takes linear time', async () => {
    const long = `${'a'.repeat(400_000)} ${'x. '.repeat(50_000)}`;
    const spent = cpuTimer();
    await textOf(model, { system: SYSTEM, messages: [user(long), assistant('k'), user('Summarise.')] });
    expect(spent()).toBeLessThan(5000);
  });
});

describe('variants', () => {
  test('offline:slow takes its time and can be stopped in the middle of it', async () => {
    const slow = createOfflineModel({ variant: 'slow', delayMs: 60_000 });
    const stop = new AbortController();
    const running = run(slow, asking('hello'), { signal: stop.signal });
    stop.abort();
    expect((await running).error?.code).toBe('ABORTED');
    const quick = createOfflineModel({ variant: 'slow', delayMs: 1 });
    expect(await textOf(quick, asking('repeat a b'))).toBe('a b');
    expect((await createModel('offline:slow')).id).toBe('slow');
  });

  test('offline:error breaks off half-way', async () => {
    const { error, answer } = await run(await createModel('offline:error'), asking('hello'));
    expect(error).toMatchObject({ code: 'MODEL_FAILED', details: { status: 529 } });
    const whole = await textOf(model, asking('hello'));
    expect(answer.text).toContain('You said');
    expect(whole.startsWith(answer.text)).toBe(true);
    expect(whole.length).toBeGreaterThan(answer.text.length);
  });

  test('offline:overflow states a window it does not have', async () => {
    const liar = await createModel('offline:overflow');
    expect(liar.contextWindow).toBe(200_000);
    expect((await run(liar, asking('hello'))).error).toBeUndefined();
    const { error } = await run(liar, asking('word '.repeat(30_000)));
    expect(error).toMatchObject({ code: 'CONTEXT_OVERFLOW', details: { limit: 16_000 } });
  });

  test('offline:orphan-tool breaks off behind a call, and the history stays good', async () => {
    const breaker = await createModel('offline:orphan-tool');
    const list = new EntryList();
    list.user('read the file a.txt');
    const { error, events, answer } = await run(breaker, {
      ...requestFor(breaker, list.entries),
      tools: TOOLS,
    });
    expect(error?.code).toBe('MODEL_FAILED');
    expect(events.at(-1)?.type).toBe('tool_call');
    list.message({ ...answer.message(breaker, { stopReason: 'error' }) });
    list.user('hello?');
    const next = requestFor(breaker, list.entries);
    expect(JSON.stringify(next)).not.toContain('"call"');
    expect(await textOf(breaker, next)).toContain('hello?');
  });
});
