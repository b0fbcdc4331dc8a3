import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/**
 * Homes as the five systems write them, after three days of use: an index, several sessions, a tool call and a
 * compaction. In each, the newest session knows that the user's name is Ada.
 */

const DAYS = ['2026-03-01', '2026-03-02', '2026-03-03'] as const;
export const NEWEST: string = `${DAYS[2]}T17:00:00.000Z`;

const at = (day: 0 | 1 | 2, hour: number): string =>
  `${DAYS[day]}T${String(hour).padStart(2, '0')}:00:00.000Z`;
const ms = (day: 0 | 1 | 2, hour: number): number => Date.parse(at(day, hour));
const seconds = (day: 0 | 1 | 2, hour: number): number => ms(day, hour) / 1000;

function write(content: string, ...path: readonly string[]): void {
  const file = join(...path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
}

const jsonl = (records: readonly object[]): string =>
  records.map((each) => `${JSON.stringify(each)}\n`).join('');
const text = (words: string): object[] => [{ type: 'text', text: words }];

/** Flat records; a compaction there is a pair of messages in front of the rest. */
export function writeClaw0(root: string): void {
  const agent = join(root, 'workspace', '.sessions', 'agents', 'main');
  const session = (id: string, records: readonly object[]): void =>
    write(jsonl(records), agent, 'sessions', `${id}.jsonl`);
  session('11111111', [
    { type: 'user', content: 'Tell me about Python generators.', ts: seconds(0, 9) },
    { type: 'assistant', content: text('They yield values.'), ts: seconds(0, 10) },
  ]);
  session('22222222', [
    { type: 'user', content: 'Read config.json', ts: seconds(1, 9) },
    { type: 'assistant', content: text('I read it.'), ts: seconds(1, 9) },
    {
      type: 'tool_use',
      tool_use_id: 'toolu_1',
      name: 'read_file',
      input: { path: 'config.json' },
      ts: seconds(1, 9),
    },
    { type: 'tool_result', tool_use_id: 'toolu_1', content: '{"port": 8080}', ts: seconds(1, 9) },
    { type: 'assistant', content: text('The port is 8080.'), ts: seconds(1, 10) },
  ]);
  session('33333333', [
    {
      type: 'user',
      content: '[Previous conversation summary]\nThe user builds a garden shed.',
      ts: seconds(2, 9),
    },
    { type: 'assistant', content: text('Understood, I have the context.'), ts: seconds(2, 9) },
    { type: 'user', content: 'my name is Ada', ts: seconds(2, 16) },
    { type: 'assistant', content: text('Hello Ada.'), ts: seconds(2, 17) },
  ]);
  const entry = (label: string, day: 0 | 1 | 2, hour: number, messages: number): object => ({
    ...{ label, created_at: at(day, 9), last_active: at(day, hour), message_count: messages },
  });
  const index = {
    11111111: entry('generators', 0, 10, 2),
    22222222: entry('config', 1, 10, 5),
    33333333: entry('shed', 2, 17, 4),
  };
  write(JSON.stringify(index), agent, 'sessions.json');
}

/** An index by `<agent>:<channel>:<peer>`; results stand before their calls, as `save_turn` writes them. */
export function writeClassic(root: string): void {
  const folder = join(root, 'workspace', '.sessions');
  const index: Record<string, object> = {};
  const session = (
    key: string,
    id: string,
    day: 0 | 1 | 2,
    hour: number,
    records: readonly object[],
  ): void => {
    const file = `${key.replaceAll(':', '_')}_${id}.jsonl`;
    const header = { type: 'session', id, key, created: at(day, 9) };
    write(jsonl([header, ...records]), folder, 'transcripts', file);
    index[key] = {
      ...{ session_key: key, session_id: id, created_at: at(day, 9), updated_at: at(day, hour) },
      ...{ message_count: 1, transcript_file: file },
    };
  };
  session('main:telegram:ben', 'aaaaaaaaaaaa', 0, 10, [
    { type: 'user', content: 'hello from Ben', ts: at(0, 9) },
    { type: 'assistant', content: 'Hi there!', ts: at(0, 10) },
  ]);
  session('main:cli:user_101500', 'bbbbbbbbbbbb', 1, 10, [
    { type: 'user', content: 'read the file', ts: at(1, 9) },
    { type: 'tool_result', tool_use_id: 'tu_001', output: '{"key": "value"}', ts: at(1, 9) },
    {
      type: 'tool_use',
      name: 'read_file',
      tool_use_id: 'tu_001',
      input: { path: 'config.json' },
      ts: at(1, 9),
    },
    { type: 'assistant', content: 'The key has a value.', ts: at(1, 10) },
  ]);
  session('main:cli:user', 'cccccccccccc', 2, 17, [
    { type: 'user', content: 'my name is Ada', ts: at(2, 16) },
    { type: 'assistant', content: 'Hello Ada.', ts: at(2, 17) },
  ]);
  write(JSON.stringify(index), folder, 'sessions.json');
}

/** The four tables; tools leave no rows, and a summary is an assistant row after the boundary. */
export function writeZeroclaw(root: string): void {
  const folder = join(root, 'workspace', 'memory');
  mkdirSync(folder, { recursive: true });
  const database = new DatabaseSync(join(folder, 'sessions.db'));
  database.exec(`
    CREATE TABLE session_index (session_key TEXT PRIMARY KEY, active_session_id TEXT NOT NULL, updated_at TEXT NOT NULL);
    CREATE TABLE sessions (session_id TEXT PRIMARY KEY, session_key TEXT NOT NULL, status TEXT NOT NULL, title TEXT,
      created_at TEXT NOT NULL, updated_at TEXT NOT NULL);
    CREATE TABLE session_messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, role TEXT NOT NULL,
      content TEXT NOT NULL, created_at TEXT NOT NULL, meta_json TEXT);
    CREATE TABLE session_state (session_id TEXT, key TEXT, value TEXT, updated_at TEXT);
  `);
  const insert = database.prepare(
    'INSERT INTO session_messages (session_id, role, content, created_at) VALUES (?, ?, ?, ?)',
  );
  const session = (
    id: string,
    key: string,
    day: 0 | 1 | 2,
    rows: readonly [string, string, number][],
  ): number => {
    const last = at(day, rows.at(-1)?.[2] ?? 9);
    database
      .prepare('INSERT INTO sessions VALUES (?, ?, ?, ?, ?, ?)')
      .run(id, key, 'active', null, at(day, 9), last);
    database.prepare('INSERT INTO session_index VALUES (?, ?, ?)').run(key, id, last);
    let row = 0;
    for (const [role, content, hour] of rows)
      row = Number(insert.run(id, role, content, at(day, hour)).lastInsertRowid);
    return row;
  };
  session('z-group', 'group:discord:garden', 0, [
    ['user', 'When do we plant?', 9],
    ['assistant', 'In April.', 10],
  ]);
  session('z-thread', 'thread:discord:garden:7', 1, [
    ['user', 'Tomatoes here?', 9],
    ['assistant', 'Yes.', 10],
  ]);
  session('z-ben', 'direct:telegram:ben', 1, [
    ['user', 'my name is Ben', 11],
    ['assistant', 'Hello Ben.', 12],
  ]);
  const boundary = session('z-ada', 'direct:cli:user', 2, [
    ['user', 'I build a shed.', 9],
    ['assistant', 'Good.', 10],
  ]);
  insert.run('z-ada', 'assistant', '[Session Compaction Summary]\nThe user builds a garden shed.', at(2, 11));
  insert.run('z-ada', 'user', 'my name is Ada', at(2, 16));
  insert.run('z-ada', 'assistant', 'Hello Ada.', at(2, 17));
  database
    .prepare('INSERT INTO session_state VALUES (?, ?, ?, ?)')
    .run('z-ada', 'compaction_after_message_id', String(boundary), at(2, 11));
  database.prepare('UPDATE sessions SET updated_at = ? WHERE session_id = ?').run(at(2, 17), 'z-ada');
  database.close();
}

/** Version 3 transcripts and an index by session key, with statistics of the last run in it. */
export function writeOpenClaw(root: string): void {
  const folder = join(root, 'agents', 'main', 'sessions');
  const transcript = (
    id: string,
    day: 0 | 1 | 2,
    messages: readonly [object, number][],
    more: readonly object[] = [],
  ): void => {
    let parentId: string | null = null;
    const lines = messages.map(([message, hour], i) => {
      const line = { type: 'message', id: `0000000${i + 1}`, parentId, timestamp: at(day, hour), message };
      parentId = line.id;
      return line;
    });
    const header = { type: 'session', version: 3, id, timestamp: at(day, 9), cwd: '/home/ada/workspace' };
    write(jsonl([header, ...lines, ...more]), folder, `${id}.jsonl`);
  };
  const user = (words: string): object => ({ role: 'user', content: text(words) });
  const assistant = (content: readonly object[], stopReason = 'stop'): object => ({
    ...{
      role: 'assistant',
      content,
      stopReason,
      provider: 'mock',
      model: 'mock-1',
      api: 'openai-completions',
    },
  });
  const call = { type: 'toolCall', id: 'call_1', name: 'read', arguments: { path: 'trip.md' } };
  transcript('10000000-0000-4000-8000-000000000001', 0, [
    [user('Plan a trip.'), 9],
    [assistant([call], 'toolUse'), 9],
    [
      { role: 'toolResult', toolCallId: 'call_1', toolName: 'read', content: text('Lisbon'), isError: false },
      9,
    ],
    [assistant(text('To Lisbon then.')), 10],
  ]);
  transcript('20000000-0000-4000-8000-000000000002-topic-42', 1, [
    [user('The menu, please.'), 9],
    [assistant(text('Fish.')), 10],
  ]);
  transcript(
    '30000000-0000-4000-8000-000000000003',
    2,
    [
      [user('I build a garden shed.'), 9],
      [assistant(text('Good.')), 10],
      [user('my name is Ada'), 15],
      [assistant(text('Hello Ada.')), 16],
    ],
    [
      {
        ...{ type: 'compaction', id: '00000009', parentId: '00000004', timestamp: at(2, 17) },
        ...{ summary: 'The user builds a garden shed.', firstKeptEntryId: '00000003', tokensBefore: 900 },
      },
    ],
  );
  const group = 'agent:main:telegram:group:-1001';
  const statistics = {
    model: 'mock-1',
    modelProvider: 'mock',
    contextTokens: 8000,
    totalTokens: 1240,
    systemSent: true,
  };
  const index = {
    'agent:main:main': {
      sessionId: '30000000-0000-4000-8000-000000000003',
      updatedAt: ms(2, 17),
      ...statistics,
    },
    [group]: {
      sessionId: '10000000-0000-4000-8000-000000000001',
      updatedAt: ms(0, 10),
      label: 'Trip',
      ...statistics,
    },
    [`${group}:topic:42`]: { sessionId: '20000000-0000-4000-8000-000000000002', updatedAt: ms(1, 10) },
  };
  write(JSON.stringify(index), folder, 'sessions.json');
}

/** Messages without ids, an index under `sessions`, and a channel log that is separate from the sessions. */
export function writeZyhive(root: string): void {
  const agent = join(root, 'agents', 'xiuliu');
  const message = (role: string, content: unknown, day: 0 | 1 | 2, hour: number): object => ({
    ...{ type: 'message', message: { role, content }, timestamp: ms(day, hour) },
  });
  const header = (day: 0 | 1 | 2): object => ({
    type: 'session',
    version: 3,
    agentId: 'xiuliu',
    createdAt: ms(day, 9),
  });
  const sessions: Record<string, object> = {};
  const session = (
    day: 0 | 1 | 2,
    hour: number,
    title: string,
    lines: readonly object[],
    id = `ses-${ms(day, 9)}`,
  ): void => {
    write(jsonl([header(day), ...lines]), agent, 'sessions', `${id}.jsonl`);
    sessions[id] = {
      ...{ id, agentId: 'xiuliu', filePath: `${id}.jsonl`, title, messageCount: 2 },
      ...{ createdAt: ms(day, 9), lastAt: ms(day, hour), tokenEstimate: 45 },
    };
  };
  session(0, 10, '分析 payment.py 的并发问题', [
    message('user', '帮我看看这段代码', 0, 9),
    message(
      'assistant',
      [{ type: 'tool_use', id: 'tu_1', name: 'read_file', input: { path: 'payment.py' } }],
      0,
      9,
    ),
    message('user', [{ type: 'tool_result', tool_use_id: 'tu_1', content: 'lock = None' }], 0, 9),
    message('assistant', text('没有锁。'), 0, 10),
  ]);
  const chat = [message('user', 'hello from the group', 0, 9), message('assistant', text('Hello.'), 0, 9)];
  session(0, 9, 'group', chat, 'telegram--100123');
  session(1, 10, '你好', [message('user', '你好', 1, 9), message('assistant', text('你好！'), 1, 10)]);
  session(2, 17, 'Ada', [
    message('user', 'I build a garden shed.', 2, 9),
    message('assistant', text('Good.'), 2, 10),
    message('user', 'my name is Ada', 2, 15),
    message('assistant', text('Hello Ada.'), 2, 16),
    {
      ...{ type: 'compaction', summary: 'The user builds a garden shed.', firstKeptEntryId: 'msg-3' },
      ...{ tokensBefore: 80_000, tokensAfter: 5000, timestamp: ms(2, 17) },
    },
  ]);
  write(JSON.stringify({ sessions }), agent, 'sessions', 'sessions.json');
  const line = {
    role: 'user',
    content: 'hello from the group',
    channelId: '-100123',
    channelType: 'telegram',
  };
  write(jsonl([{ ts: ms(0, 9), ...line, sender: 'Ben' }]), agent, 'convlogs', 'telegram--100123.jsonl');
}
