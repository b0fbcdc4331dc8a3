import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import type { NewEntry } from '../../../src/exports/store.ts';
import type { Entry, Store } from '../../../src/index.ts';
import { exportLayout } from '../../../src/interop/export/export-layout.ts';
import { everySession, freshFolder, freshStore } from '../../support/store/interop-home.ts';

/*
 * The files of each layout as text, written down from the documents of the five systems. Our own reader takes part nowhere:
 * it accepts more than those systems do.
 */

const at = (second: number): string => `2025-01-01T00:00:${String(second).padStart(2, '0')}.000Z`;
const HELLO: readonly NewEntry[] = [
  { type: 'message', message: { role: 'user', content: 'hello' }, copiedAt: at(1) },
  {
    type: 'message',
    message: {
      role: 'assistant',
      content: [
        { type: 'text', text: 'I look.' },
        { type: 'toolCall', id: 'tu_001', name: 'read_file', arguments: { path: 'config.json' } },
      ],
      stopReason: 'toolUse',
    },
    copiedAt: at(2),
  },
  {
    type: 'message',
    message: {
      role: 'toolResult',
      toolCallId: 'tu_001',
      toolName: 'read_file',
      content: [{ type: 'text', text: '{"key": "value"}' }],
      isError: false,
    },
    copiedAt: at(3),
  },
  {
    type: 'message',
    message: { role: 'assistant', content: [{ type: 'text', text: 'Hi there!' }], stopReason: 'stop' },
    copiedAt: at(4),
  },
];

async function talk(
  sessions: readonly { readonly id: string; readonly key: string; readonly entries?: readonly NewEntry[] }[],
): Promise<Store> {
  const store = await freshStore();
  for (const { id, key, entries = HELLO } of sessions) {
    await store.create({ id, key, createdAt: at(0) });
    await store.append(id, entries);
    await store.activate(key, id);
  }
  return store;
}

/** Sessions in the order of their ids: all of a test may be stored within one millisecond. */
async function written(store: Store, layout: string): Promise<string> {
  const folder = join(freshFolder(), 'out');
  const sessions = (await everySession(store)).toSorted((a, b) => (a.id < b.id ? -1 : 1));
  await exportLayout(store, { layout, folder, sessions, all: true });
  return folder;
}

function filesOf(folder: string): Record<string, string> {
  const all = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const paths = all.filter((path) => /\.jsonl?$/.test(path)).toSorted();
  return Object.fromEntries(paths.map((path) => [path, readFileSync(join(folder, path), 'utf8')]));
}

/**
 * A v3 transcript with `<n>` for the id of its n-th entry, because ids depend on places in the store. Without Reprise's
 * own entries, which other programs skip.
 */
function numbered(transcript = ''): string {
  const lines = transcript.split('\n').filter((line) => !line.includes('"customType":"reprise.'));
  const ids = lines.slice(1, -1).map((line) => (JSON.parse(line) as Entry).id);
  return ids.reduce((left, id, i) => left.replaceAll(`"${id}"`, `"<${i + 1}>"`), lines.join('\n'));
}

const SESSION = { id: 'abc123abc123', key: 'agent:main:main' };
const BEN = { id: 'be0000000000', key: 'agent:main:telegram:direct:ben' };

/** JSON as Python and Go write it for people: two spaces. */
const pretty = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;
const text = (...lines: readonly string[]): string => lines.map((line) => `${line}\n`).join('');

/** A conversation that was compacted: what was covered, the summary, and the exchange that is kept. */
async function compacted(store: Store, id: string): Promise<void> {
  const { lastSeq } = await store.append(id, [
    { type: 'message', message: { role: 'user', content: 'And now?' }, copiedAt: at(5) },
    {
      type: 'message',
      message: { role: 'assistant', content: [{ type: 'text', text: 'Nothing.' }], stopReason: 'stop' },
      copiedAt: at(6),
    },
  ]);
  const { entries } = await store.read(id, { from: lastSeq - 1, limit: 1 });
  const firstKeptEntryId = (entries[0]?.entry as Entry | undefined)?.id;
  const sizes = { tokensBefore: 80_000, tokensAfter: 5000 };
  const summary = 'A file was read.';
  await store.append(id, [{ type: 'compaction', summary, firstKeptEntryId, ...sizes, copiedAt: at(7) }]);
}

test('claw0: one index by session id, one record for each message, call and result', async () => {
  const store = await talk([SESSION]);
  expect(filesOf(await written(store, 'claw0'))).toEqual({
    'workspace/.sessions/agents/main/sessions.json': pretty({
      abc123abc123: {
        label: 'hello',
        created_at: at(1),
        last_active: at(4),
        message_count: 5,
        session_key: 'agent:main:main',
      },
    }),
    'workspace/.sessions/agents/main/sessions/abc123abc123.jsonl': text(
      '{"type":"user","content":"hello","ts":1735689601}',
      '{"type":"assistant","content":[{"type":"text","text":"I look."}],"ts":1735689602}',
      '{"type":"tool_use","tool_use_id":"tu_001","name":"read_file","input":{"path":"config.json"},"ts":1735689602}',
      '{"type":"tool_result","tool_use_id":"tu_001","content":"{\\"key\\": \\"value\\"}","ts":1735689603}',
      '{"type":"assistant","content":[{"type":"text","text":"Hi there!"}],"ts":1735689604}',
    ),
  });
});

test('claw0 classic: one index by the keys it looks for, transcripts named by key and id', async () => {
  const store = await talk([SESSION, BEN]);
  const entry = (key: string, id: string, file: string): object => ({
    session_key: key,
    session_id: id,
    created_at: at(1),
    updated_at: at(4),
    message_count: 5,
    transcript_file: file,
    title: 'hello',
  });
  const lines = [
    `{"type":"user","content":"hello","ts":"${at(1)}"}`,
    `{"type":"assistant","content":"I look.","ts":"${at(2)}"}`,
    `{"type":"tool_use","tool_use_id":"tu_001","name":"read_file","input":{"path":"config.json"},"ts":"${at(2)}"}`,
    `{"type":"tool_result","tool_use_id":"tu_001","output":"{\\"key\\": \\"value\\"}","ts":"${at(3)}"}`,
    `{"type":"assistant","content":"Hi there!","ts":"${at(4)}"}`,
  ];
  const header = (key: string, id: string): string =>
    `{"type":"session","id":"${id}","key":"${key}","created":"${at(1)}"}`;
  expect(filesOf(await written(store, 'claw0-classic'))).toEqual({
    'workspace/.sessions/sessions.json': pretty({
      'main:cli:user': entry('main:cli:user', SESSION.id, `main_cli_user_${SESSION.id}.jsonl`),
      'main:telegram:ben': entry('main:telegram:ben', BEN.id, `main_telegram_ben_${BEN.id}.jsonl`),
    }),
    [`workspace/.sessions/transcripts/main_cli_user_${SESSION.id}.jsonl`]: text(
      header('main:cli:user', SESSION.id),
      ...lines,
    ),
    [`workspace/.sessions/transcripts/main_telegram_ben_${BEN.id}.jsonl`]: text(
      header('main:telegram:ben', BEN.id),
      ...lines,
    ),
  });
});

test('ZeroClaw: four tables, no tool rows, the summary after its boundary and before the last user message', async () => {
  const store = await talk([SESSION, BEN]);
  await compacted(store, BEN.id);
  const path = join(await written(store, 'zeroclaw'), 'workspace', 'memory', 'sessions.db');
  using database = new DatabaseSync(path, { readOnly: true });
  const rows = (table: string): unknown[] => database.prepare(`SELECT * FROM ${table}`).all();
  const key = 'direct:telegram:ben';
  expect(rows('session_index')).toEqual([
    { session_key: 'agent:main:main', active_session_id: SESSION.id, updated_at: at(4) },
    { session_key: key, active_session_id: BEN.id, updated_at: at(6) },
  ]);
  const session = { status: 'active', title: 'hello', created_at: at(1) };
  expect(rows('sessions')).toEqual([
    { ...session, session_id: SESSION.id, session_key: 'agent:main:main', updated_at: at(4) },
    { ...session, session_id: BEN.id, session_key: key, updated_at: at(6) },
  ]);
  const hello = (id: string): (string | number)[][] => [
    [id, 'user', 'hello', 1],
    [id, 'assistant', 'I look.', 2],
    [id, 'assistant', 'Hi there!', 4],
  ];
  const summary = '[Session Compaction Summary]\nA file was read.';
  const said = [
    ...hello(SESSION.id),
    ...hello(BEN.id),
    [BEN.id, 'assistant', summary, 7],
    [BEN.id, 'user', 'And now?', 5],
    [BEN.id, 'assistant', 'Nothing.', 6],
  ];
  expect(rows('session_messages')).toEqual(
    said.map(([session_id, role, content, second], i) => ({
      ...{ id: i + 1, session_id, role, content, created_at: at(Number(second)) },
      meta_json: content === summary ? '{"reprise":"context starts here"}' : null,
    })),
  );
  // Its loader reads the rows after the boundary: the summary and what is kept.
  expect(rows('session_state')).toEqual([
    { session_id: BEN.id, key: 'compaction_after_message_id', value: '6', updated_at: at(7) },
  ]);
});

test('OpenClaw: an index of SessionEntry by key, version 3 transcripts, a topic under its own name', async () => {
  const topic = { id: 'cafe', key: 'agent:main:telegram:group:-1001:topic:42' };
  const store = await talk([SESSION, { ...topic, entries: HELLO.slice(0, 1) }]);
  await compacted(store, SESSION.id);
  await store.patch(SESSION.id, { label: 'Greeting', thinkingLevel: 'high', queueMode: 'collect' });
  const tokens = async (id: string): Promise<number> => (await store.get(id)).tokenEstimate;
  const files = filesOf(await written(store, 'clawdbot'));
  const folder = 'agents/main/sessions';
  expect(Object.keys(files)).toEqual([
    `${folder}/abc123abc123.jsonl`,
    `${folder}/cafe-topic-42.jsonl`,
    `${folder}/sessions.json`,
  ]);
  expect(files[`${folder}/sessions.json`]).toBe(
    pretty({
      'agent:main:main': {
        label: 'Greeting',
        thinkingLevel: 'high',
        queueMode: 'collect',
        contextTokens: await tokens(SESSION.id),
        sessionId: SESSION.id,
        updatedAt: Date.parse(at(6)),
        sessionFile: 'abc123abc123.jsonl',
      },
      [topic.key]: {
        contextTokens: await tokens(topic.id),
        sessionId: topic.id,
        updatedAt: Date.parse(at(1)),
        sessionFile: 'cafe-topic-42.jsonl',
      },
    }),
  );
  const header = (id: string, key: string): string =>
    `{"type":"session","version":3,"id":"${id}","timestamp":"${at(0)}","cwd":"","agentId":"main","key":"${key}"}`;
  const line = (type: string, second: number, rest: string, id: number): string =>
    `{"type":"${type}","id":"<${id}>","parentId":${id === 1 ? null : `"<${id - 1}>"`},"timestamp":"${at(second)}",${rest}}`;
  const hello = line('message', 1, '"message":{"role":"user","content":"hello"}', 1);
  expect(numbered(files[`${folder}/cafe-topic-42.jsonl`])).toBe(text(header('cafe', topic.key), hello));
  expect(numbered(files[`${folder}/abc123abc123.jsonl`])).toBe(
    text(
      header('abc123abc123', 'agent:main:main'),
      hello,
      line(
        'message',
        2,
        '"message":{"role":"assistant","content":[{"type":"text","text":"I look."},{"type":"toolCall","id":"tu_001","name":"read_file","arguments":{"path":"config.json"}}],"stopReason":"toolUse"}',
        2,
      ),
      line(
        'message',
        3,
        '"message":{"role":"toolResult","toolCallId":"tu_001","toolName":"read_file","content":[{"type":"text","text":"{\\"key\\": \\"value\\"}"}],"isError":false}',
        3,
      ),
      line(
        'message',
        4,
        '"message":{"role":"assistant","content":[{"type":"text","text":"Hi there!"}],"stopReason":"stop"}',
        4,
      ),
      line('message', 5, '"message":{"role":"user","content":"And now?"}', 5),
      line(
        'message',
        6,
        '"message":{"role":"assistant","content":[{"type":"text","text":"Nothing."}],"stopReason":"stop"}',
        6,
      ),
      line(
        'compaction',
        7,
        '"summary":"A file was read.","firstKeptEntryId":"<5>","tokensBefore":80000,"tokensAfter":5000',
        7,
      ),
    ),
  );
});

test('ZyHive: an index under `sessions`, lines without ids, a compaction that counts messages, channel logs', async () => {
  const store = await talk([{ ...SESSION, id: 'ses-1708300000000' }]);
  await compacted(store, 'ses-1708300000000');
  await store.convlog.append([
    {
      ...{ agentId: 'main', channelType: 'telegram', channelId: '42', role: 'user', content: '你好' },
      ...{ sender: { id: '42', name: 'Ann' }, ts: at(1) },
    },
  ]);
  const files = filesOf(await written(store, 'zyhive'));
  const tokenEstimate = (await store.get('ses-1708300000000')).tokenEstimate;
  expect(tokenEstimate).toBe(5000);
  const ms = (second: number): number => Date.parse(at(second));
  expect(files).toEqual({
    'agents/main/sessions/sessions.json': pretty({
      sessions: {
        'ses-1708300000000': {
          id: 'ses-1708300000000',
          agentId: 'main',
          filePath: 'ses-1708300000000.jsonl',
          title: 'hello',
          messageCount: 5,
          createdAt: ms(1),
          lastAt: ms(6),
          tokenEstimate,
        },
      },
    }),
    'agents/main/sessions/ses-1708300000000.jsonl': text(
      `{"type":"session","version":3,"agentId":"main","createdAt":${ms(1)},"id":"ses-1708300000000","key":"agent:main:main"}`,
      `{"type":"message","message":{"role":"user","content":"hello"},"timestamp":${ms(1)}}`,
      `{"type":"message","message":{"role":"assistant","content":[{"type":"text","text":"I look."},{"type":"tool_use","id":"tu_001","name":"read_file","input":{"path":"config.json"}}]},"timestamp":${ms(2)}}`,
      `{"type":"message","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"tu_001","content":"{\\"key\\": \\"value\\"}"}]},"timestamp":${ms(3)}}`,
      `{"type":"message","message":{"role":"assistant","content":[{"type":"text","text":"Hi there!"}]},"timestamp":${ms(4)}}`,
      `{"type":"message","message":{"role":"user","content":"And now?"},"timestamp":${ms(5)}}`,
      `{"type":"message","message":{"role":"assistant","content":[{"type":"text","text":"Nothing."}]},"timestamp":${ms(6)}}`,
      `{"type":"compaction","summary":"A file was read.","firstKeptEntryId":"msg-5","tokensBefore":80000,"tokensAfter":5000,"timestamp":${ms(7)}}`,
    ),
    'agents/main/convlogs/telegram-42.jsonl': text(
      `{"ts":"${at(1)}","role":"user","content":"你好","channelId":"telegram-42","channelType":"telegram","sender":"Ann (42)"}`,
    ),
  });
});
