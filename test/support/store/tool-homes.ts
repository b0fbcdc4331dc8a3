import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { deflateRawSync } from 'node:zlib';

/** Small homes of other tools, in the shape that each tool writes. The words are ours. */

export const AT = (second: number): string => `2026-01-02T03:04:${String(second).padStart(2, '0')}.000Z`;
const MS = (second: number): number => Date.parse(AT(second));

export function writeJsonLines(path: string, records: readonly object[]): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, records.map((record) => `${JSON.stringify(record)}\n`).join(''));
  return path;
}

function writeJson(path: string, value: unknown): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, JSON.stringify(value));
  return path;
}

/** The words of every home below, in order. */
export const WORDS: readonly string[] = [
  'remember the kiwi',
  'I will look',
  'the file says 猕猴桃',
  'it is a fruit',
  'thank you',
];

const CLAUDE_ID = 'aaaaaaaa-1111-4222-8333-444444444444';
const claudeLine = (uuid: string, parentUuid: string | null, second: number, fields: object): object => ({
  ...{
    parentUuid,
    isSidechain: false,
    userType: 'external',
    cwd: '/work',
    sessionId: CLAUDE_ID,
    version: '2.1.0',
  },
  ...{ uuid, timestamp: AT(second), ...fields },
});
const usage = {
  input_tokens: 10,
  output_tokens: 5,
  cache_read_input_tokens: 100,
  cache_creation_input_tokens: 0,
};
const claudeAnswer = (id: string, block: object): object => ({
  type: 'assistant',
  message: {
    id,
    type: 'message',
    role: 'assistant',
    model: 'claude-x',
    content: [block],
    stop_reason: null,
    usage,
  },
});

export function claudeLines(): object[] {
  return [
    { type: 'mode', mode: 'normal', sessionId: CLAUDE_ID },
    { type: 'file-history-snapshot', messageId: 'u1', snapshot: {}, isSnapshotUpdate: false },
    claudeLine('u1', null, 1, { type: 'user', message: { role: 'user', content: WORDS[0] } }),
    claudeLine('a1', 'u1', 2, { type: 'attachment', attachment: { type: 'skill_listing', content: '' } }),
    claudeLine('m1', 'a1', 3, claudeAnswer('msg_1', { type: 'text', text: WORDS[1] })),
    claudeLine(
      'm2',
      'm1',
      3,
      claudeAnswer('msg_1', { type: 'tool_use', id: 't1', name: 'Read', input: { path: 'a' } }),
    ),
    claudeLine('r1', 'm2', 4, {
      type: 'user',
      message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: WORDS[2] }] },
    }),
    claudeLine('m3', 'r1', 5, claudeAnswer('msg_2', { type: 'text', text: WORDS[3] })),
    claudeLine('u2', 'm3', 6, { type: 'user', message: { role: 'user', content: WORDS[4] } }),
  ];
}

export function claudeHome(root: string): string {
  writeJsonLines(join(root, '.claude', 'projects', '-work', `${CLAUDE_ID}.jsonl`), claudeLines());
  return join(root, '.claude');
}

const CODEX_ID = '01a1de21-3c36-7b93-b2fb-2d008ef25112';
export function codexLines(): object[] {
  const item = (second: number, payload: object): object => ({
    timestamp: AT(second),
    type: 'response_item',
    payload,
  });
  const event = (second: number, payload: object): object => ({
    timestamp: AT(second),
    type: 'event_msg',
    payload,
  });
  return [
    {
      ...{ timestamp: AT(0), type: 'session_meta' },
      payload: { id: CODEX_ID, timestamp: AT(0), cwd: '/work', base_instructions: { text: 'obey the file' } },
    },
    item(1, {
      type: 'message',
      role: 'user',
      content: [{ type: 'input_text', text: '<environment_context>x' }],
    }),
    item(1, { type: 'message', role: 'user', content: [{ type: 'input_text', text: WORDS[0] }] }),
    event(1, { type: 'user_message', message: WORDS[0] }),
    { timestamp: AT(1), type: 'turn_context', payload: { model: 'gpt-x' } },
    item(2, { type: 'reasoning', summary: [], encrypted_content: 'xyz' }),
    item(2, { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: WORDS[1] }] }),
    event(2, { type: 'agent_message', message: WORDS[1] }),
    item(3, { type: 'function_call', name: 'exec_command', arguments: '{"cmd":"cat a"}', call_id: 'c1' }),
    item(4, { type: 'function_call_output', call_id: 'c1', output: WORDS[2] }),
    item(5, { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: WORDS[3] }] }),
    event(5, {
      type: 'token_count',
      info: { last_token_usage: { input_tokens: 110, cached_input_tokens: 100, output_tokens: 5 } },
    }),
    item(6, { type: 'message', role: 'user', content: [{ type: 'input_text', text: WORDS[4] }] }),
  ];
}

export function codexHome(root: string): string {
  const name = `rollout-2026-01-02T03-04-00-${CODEX_ID}.jsonl`;
  writeJsonLines(join(root, '.codex', 'sessions', '2026', '01', '02', name), codexLines());
  return join(root, '.codex');
}

export function geminiLines(): object[] {
  const response = { id: 'g1', name: 'read_file', response: { output: WORDS[2] } };
  const answer = {
    id: 'm2',
    timestamp: AT(2),
    type: 'gemini',
    content: WORDS[1],
    thoughts: [],
    model: 'gemini-x',
  };
  const call = {
    id: 'g1',
    name: 'read_file',
    args: { path: 'a' },
    result: [{ functionResponse: response }],
    status: 'success',
  };
  return [
    { sessionId: 'gemini-session', projectHash: 'p', startTime: AT(0), lastUpdated: AT(0), kind: 'main' },
    { id: 'm1', timestamp: AT(1), type: 'user', content: [{ text: WORDS[0] }] },
    { $set: { lastUpdated: AT(1) } },
    answer,
    { ...answer, toolCalls: [call] },
    { id: 'm3', timestamp: AT(3), type: 'user', content: [{ functionResponse: response }] },
    { id: 'm4', timestamp: AT(4), type: 'gemini', content: 'a slip', tokens: { input: 5, output: 1 } },
    { $rewindTo: 'm4' },
    { id: 'm5', timestamp: AT(5), type: 'gemini', content: WORDS[3], tokens: { input: 5, output: 1 } },
    { id: 'm6', timestamp: AT(6), type: 'user', content: [{ text: WORDS[4] }] },
  ];
}

export function geminiHome(root: string): string {
  writeJsonLines(
    join(root, '.gemini', 'tmp', 'work', 'chats', 'session-2026-01-02T03-04-gemini.jsonl'),
    geminiLines(),
  );
  return join(root, '.gemini');
}

interface OpencodeMessage {
  readonly info: { readonly id: string; readonly [key: string]: unknown };
  readonly parts: readonly ({ readonly id: string } & Readonly<Record<string, unknown>>)[];
}

const OPENCODE_INFO = {
  ...{ id: 'ses_1', slug: 's', projectID: 'global', directory: '/work', title: 'Fruit', version: '1.18.0' },
  time: { created: MS(0), updated: MS(6) },
};
function opencodeMessages(): OpencodeMessage[] {
  const message = (id: string, role: string, second: number, ...parts: object[]): OpencodeMessage => ({
    info: {
      id,
      sessionID: 'ses_1',
      role,
      time: { created: MS(second) },
      ...(role === 'assistant' && { finish: 'stop' }),
    },
    parts: parts.map((part, i) => ({ id: `prt_${id}_${i}`, ...part })),
  });
  const state = { status: 'completed', input: { path: 'a' }, output: WORDS[2], time: {} };
  return [
    message('msg_1', 'user', 1, { type: 'text', text: WORDS[0] }),
    message(
      ...(['msg_2', 'assistant', 2] as const),
      ...[{ type: 'step-start' }, { type: 'text', text: WORDS[1] }],
      { type: 'tool', tool: 'read', callID: 'c1', state },
    ),
    message('msg_3', 'assistant', 5, { type: 'text', text: WORDS[3] }),
    message('msg_4', 'user', 6, { type: 'text', text: WORDS[4] }),
  ];
}

export function opencodeDatabase(path: string): string {
  mkdirSync(dirname(path), { recursive: true });
  const database = new DatabaseSync(path);
  database.exec(`CREATE TABLE session (id TEXT PRIMARY KEY, parent_id TEXT, title TEXT, directory TEXT, time_created INTEGER, time_updated INTEGER);
    CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, data TEXT);
    CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INTEGER, data TEXT)`);
  database
    .prepare('INSERT INTO session VALUES (?, NULL, ?, ?, ?, ?)')
    .run('ses_1', 'Fruit', '/work', MS(0), MS(6));
  for (const { info, parts } of opencodeMessages()) {
    const { id, ...data } = info;
    database.prepare('INSERT INTO message VALUES (?, ?, ?, ?)').run(id, 'ses_1', MS(1), JSON.stringify(data));
    for (const { id: part, ...rest } of parts)
      database
        .prepare('INSERT INTO part VALUES (?, ?, ?, ?, ?)')
        .run(part, id, 'ses_1', MS(1), JSON.stringify(rest));
  }
  database.close();
  return path;
}

export function opencodeHome(root: string): string {
  opencodeDatabase(join(root, '.local', 'share', 'opencode', 'opencode.db'));
  return join(root, '.local', 'share', 'opencode');
}

function opencodeStorage(root: string): string {
  const storage = join(root, 'opencode', 'storage');
  writeJson(join(storage, 'session', 'global', 'ses_1.json'), OPENCODE_INFO);
  for (const { info, parts } of opencodeMessages()) {
    writeJson(join(storage, 'message', 'ses_1', `${info.id}.json`), info);
    for (const part of parts) writeJson(join(storage, 'part', info.id, `${part.id}.json`), part);
  }
  return join(root, 'opencode');
}

function opencodeExport(root: string): string {
  return writeJson(join(root, 'export.json'), { info: OPENCODE_INFO, messages: opencodeMessages() });
}

export function openclawDatabaseHome(root: string): string {
  const path = join(root, '.openclaw', 'agents', 'main', 'agent', 'openclaw-agent.sqlite');
  mkdirSync(dirname(path), { recursive: true });
  const database = new DatabaseSync(path);
  database.exec(`CREATE TABLE session_nodes (session_key TEXT, current_session_id TEXT, entry_json TEXT, label TEXT, display_name TEXT);
    CREATE TABLE session_windows (session_id TEXT, session_key TEXT, previous_session_id TEXT, updated_at INTEGER);
    CREATE TABLE transcript_events (session_id TEXT, seq INTEGER, event_json TEXT, created_at INTEGER, event_zstd BLOB)`);
  const entry = JSON.stringify({
    sessionId: 'oc1',
    model: 'last-used',
    contextTokens: 9,
    thinkingLevel: 'high',
  });
  database
    .prepare('INSERT INTO session_nodes VALUES (?, ?, ?, NULL, NULL)')
    .run('agent:main:telegram:group:-1', 'oc1', entry);
  database
    .prepare('INSERT INTO session_windows VALUES (?, ?, NULL, ?)')
    .run('oc1', 'agent:main:telegram:group:-1', MS(6));
  const call = { type: 'toolCall', id: 'c1', name: 'read', arguments: { path: 'a' } };
  const messages = [
    { role: 'user', content: WORDS[0] },
    { role: 'assistant', content: [{ type: 'text', text: WORDS[1] }, call] },
    {
      role: 'toolResult',
      toolCallId: 'c1',
      toolName: 'read',
      content: [{ type: 'text', text: WORDS[2] }],
      isError: false,
    },
    { role: 'assistant', content: [{ type: 'text', text: WORDS[3] }] },
    { role: 'user', content: WORDS[4] },
  ];
  const events = [
    { type: 'session', version: 4, id: 'oc1', timestamp: AT(0), cwd: '/work' },
    ...messages.map((message, i) => ({
      ...{
        type: 'message',
        id: `e${i}`,
        parentId: i === 0 ? null : `e${i - 1}`,
        timestamp: AT(i + 1),
        message,
      },
    })),
  ];
  for (const [seq, event] of events.entries())
    database
      .prepare('INSERT INTO transcript_events VALUES (?, ?, ?, ?, NULL)')
      .run('oc1', seq, JSON.stringify(event), MS(seq));
  database.close();
  return join(root, '.openclaw');
}

function langchainFile(root: string): string {
  const more = { additional_kwargs: {}, response_metadata: {} };
  return writeJson(join(root, 'history.json'), [
    { type: 'system', data: { content: 'obey the file', ...more } },
    { type: 'human', data: { content: WORDS[0], ...more } },
    {
      type: 'ai',
      data: { content: WORDS[1], tool_calls: [{ id: 'c1', name: 'read', args: { path: 'a' } }], ...more },
    },
    { type: 'tool', data: { content: WORDS[2], tool_call_id: 'c1', name: 'read', ...more } },
    { type: 'ai', data: { content: WORDS[3], tool_calls: [], ...more } },
    { type: 'human', data: { content: WORDS[4], ...more } },
  ]);
}

function agentsFile(root: string): string {
  return writeJson(join(root, 'items.json'), [
    { role: 'user', content: WORDS[0] },
    { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: WORDS[1] }] },
    { type: 'function_call', name: 'read', callId: 'c1', arguments: '{"path":"a"}' },
    { type: 'function_call_result', callId: 'c1', name: 'read', output: { type: 'text', text: WORDS[2] } },
    { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: WORDS[3] }] },
    { role: 'user', content: [{ type: 'input_text', text: WORDS[4] }] },
  ]);
}

function chatgptConversation(): object {
  const node = (
    id: string,
    parent: string | null,
    role: string,
    second: number,
    parts: unknown[],
    more: object = {},
  ): object => ({
    [id]: {
      ...{ id, parent, children: [] },
      message: {
        ...{
          id,
          author: { role, name: role === 'tool' ? 'read' : null },
          create_time: MS(second) / 1000,
          recipient: 'all',
        },
        ...{ content: { content_type: 'text', parts }, metadata: {}, ...more },
      },
    },
  });
  return {
    ...{
      title: 'Fruit',
      create_time: MS(0) / 1000,
      update_time: MS(6) / 1000,
      conversation_id: 'chatgpt-1',
      current_node: 'n6',
    },
    mapping: {
      root: { id: 'root', parent: null, children: ['n1'], message: null },
      ...node('n1', 'root', 'user', 1, [WORDS[0]]),
      ...node('n2', 'n1', 'assistant', 2, [WORDS[1]]),
      ...node('n3', 'n2', 'assistant', 3, ['cat a'], { recipient: 'read' }),
      ...node('n4', 'n3', 'tool', 4, [WORDS[2]]),
      ...node('n5', 'n4', 'assistant', 5, [WORDS[3]]),
      ...node('n6', 'n5', 'user', 6, [WORDS[4]]),
      ...node('n7', 'n1', 'assistant', 7, ['another answer']),
    },
  };
}

function claudeAiConversation(): object {
  const message = (
    uuid: string,
    parent: string,
    sender: string,
    second: number,
    ...content: object[]
  ): object => ({
    ...{
      uuid,
      sender,
      text: '',
      content,
      created_at: AT(second),
      attachments: [],
      files: [],
      parent_message_uuid: parent,
    },
  });
  return {
    ...{ uuid: 'claude-ai-1', name: 'Fruit', created_at: AT(0), updated_at: AT(6) },
    chat_messages: [
      message('c1', 'root', 'human', 1, { type: 'text', text: WORDS[0] }),
      message(
        ...(['c2', 'c1', 'assistant', 2] as const),
        ...[
          { type: 'text', text: WORDS[1] },
          { type: 'tool_use', id: 'x1', name: 'read', input: { path: 'a' } },
        ],
        ...[
          { type: 'tool_result', tool_use_id: 'x1', content: WORDS[2] },
          { type: 'text', text: WORDS[3] },
        ],
      ),
      message('c3', 'c2', 'human', 6, { type: 'text', text: WORDS[4] }),
    ],
  };
}

/** A ZIP file with these texts, packed. */
export function zipOf(path: string, files: Readonly<Record<string, string | Buffer>>): string {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const [name, text] of Object.entries(files)) {
    const packed = deflateRawSync(text);
    const local = Buffer.alloc(30);
    local.writeUInt32LE(0x04034b50, 0);
    local.writeUInt16LE(8, 8);
    local.writeUInt32LE(packed.length, 18);
    local.writeUInt16LE(Buffer.byteLength(name), 26);
    const central = Buffer.alloc(46);
    central.writeUInt32LE(0x02014b50, 0);
    central.writeUInt16LE(8, 10);
    central.writeUInt32LE(packed.length, 20);
    central.writeUInt32LE(Math.min(Buffer.byteLength(text), 1000), 24);
    central.writeUInt16LE(Buffer.byteLength(name), 28);
    central.writeUInt32LE(offset, 42);
    parts.push(local, Buffer.from(name), packed);
    directory.push(central, Buffer.from(name));
    offset += local.length + Buffer.byteLength(name) + packed.length;
  }
  const list = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt32LE(list.length, 12);
  end.writeUInt32LE(offset, 16);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, Buffer.concat([...parts, list, end]));
  return path;
}

/** Each home by its tool. Every one has one session with the same words, a tool call and its result. */
export const TOOL_HOMES: Readonly<Record<string, (root: string) => string>> = {
  'Claude Code': claudeHome,
  Codex: codexHome,
  'Gemini CLI': geminiHome,
  'opencode database': opencodeHome,
  'opencode storage': opencodeStorage,
  'opencode export': opencodeExport,
  'OpenClaw database': openclawDatabaseHome,
  LangChain: langchainFile,
  'OpenAI Agents SDK': agentsFile,
  'ChatGPT ZIP': (root) =>
    zipOf(join(root, 'chatgpt.zip'), {
      'chat.html': '<p>',
      'conversations.json': JSON.stringify([chatgptConversation()]),
    }),
  'ChatGPT file': (root) => writeJson(join(root, 'conversations.json'), [chatgptConversation()]),
  'claude.ai ZIP': (root) =>
    zipOf(join(root, 'claude.zip'), {
      'users.json': '[]',
      'conversations.json': JSON.stringify([claudeAiConversation()]),
    }),
};
