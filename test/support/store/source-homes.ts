import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** Folders as five other systems write them: names, indexes and times over three days. */

export const DAYS = ['2026-03-01', '2026-03-02', '2026-03-03'] as const;

function writeFile(path: string, content: string): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  return path;
}

export function writeLines(path: string, ...records: readonly object[]): string {
  return writeFile(path, records.map((record) => `${JSON.stringify(record)}\n`).join(''));
}

export function writeIndex(path: string, index: object): string {
  return writeFile(path, JSON.stringify(index, undefined, 2));
}

export const atHour = (day: string, hour = 9): string => `${day}T${String(hour).padStart(2, '0')}:00:00.000Z`;
const ms = (day: string, hour = 9): number => Date.parse(atHour(day, hour));
const seconds = (day: string, hour = 9): number => ms(day, hour) / 1000;

/** A v3 transcript of OpenClaw with one exchange. */
export function openClawTranscript(path: string, id: string, text: string, day: string): string {
  const entry = (entryId: string, parentId: string | null, message: object, hour: number): object => ({
    ...{ type: 'message', id: entryId, parentId, timestamp: atHour(day, hour) },
    message: { ...message, timestamp: ms(day, hour) },
  });
  const answer = {
    role: 'assistant',
    content: [{ type: 'text', text: `about ${text}` }],
    stopReason: 'stop',
  };
  return writeLines(
    path,
    { type: 'session', version: 3, id, timestamp: atHour(day), cwd: '/home/ada/.openclaw/workspace' },
    entry('0000000a', null, { role: 'user', content: [{ type: 'text', text }] }, 9),
    entry('0000000b', '0000000a', answer, 10),
  );
}

/** Two agents; the main one with its chat, a group, a topic without `sessionFile`, and a session that was reset. */
export function openClawHome(root: string): string {
  const [first, second, third] = DAYS;
  const sessions = join(root, 'agents', 'main', 'sessions');
  openClawTranscript(join(sessions, 'oc-main.jsonl'), 'oc-main', 'the roof', third);
  openClawTranscript(join(sessions, 'oc-group.jsonl'), 'oc-group', 'the trip', second);
  openClawTranscript(join(sessions, 'oc-topic-topic-42.jsonl'), 'oc-topic', 'the menu', second);
  openClawTranscript(join(sessions, 'oc-old.jsonl'), 'oc-old', 'the cellar', first);
  const facts = { model: 'mock-1', contextTokens: 200_000, totalTokens: 1240 };
  const group = 'agent:main:telegram:group:-1001';
  writeIndex(join(sessions, 'sessions.json'), {
    'agent:main:main': { sessionId: 'oc-main', updatedAt: ms(third, 10), ...facts },
    [group]: {
      sessionId: 'oc-group',
      updatedAt: ms(second, 10),
      label: 'Trip',
      queueMode: 'collect',
      sessionFile: '/x/oc-group.jsonl',
    },
    [`${group}:topic:42`]: { sessionId: 'oc-topic', updatedAt: ms(second, 10), subject: 'Menu' },
  });
  const work = join(root, 'agents', 'work', 'sessions');
  openClawTranscript(join(work, 'oc-work.jsonl'), 'oc-work', 'the invoice', first);
  writeIndex(join(work, 'sessions.json'), {
    'agent:work:main': { sessionId: 'oc-work', updatedAt: ms(first, 10), label: 'Invoices' },
  });
  return root;
}

/** Flat records, an index by id beside the folder of transcripts. */
export function claw0Home(root: string): string {
  const agent = join(root, 'workspace', '.sessions', 'agents', 'main');
  const index: Record<string, object> = {};
  for (const [i, day] of DAYS.entries()) {
    const id = `c0-${['cc', 'bb', 'aa'][i]}`;
    writeLines(
      join(agent, 'sessions', `${id}.jsonl`),
      { type: 'user', content: `question ${i}`, ts: seconds(day) },
      { type: 'assistant', content: [{ type: 'text', text: `answer ${i}` }], ts: seconds(day, 10) },
    );
    const times = { created_at: atHour(day), last_active: atHour(day, 10) };
    index[id] = { label: `Project ${i}`, ...times, message_count: 2 };
  }
  writeIndex(join(agent, 'sessions.json'), index);
  return root;
}

/** An index by `<agent>:<channel>:<peer>`, transcripts below it. `/new` makes another peer of the same channel. */
export function classicHome(
  root: string,
  peers: readonly string[] = ['user', 'user_101500', 'user_171500'],
): string {
  const folder = join(root, 'workspace', '.sessions');
  const index: Record<string, object> = {};
  for (const [i, peer] of peers.entries()) {
    const day = DAYS[i] ?? DAYS[0];
    const id = `${i}0aa22bb44cc`;
    const key = `main:cli:${peer}`;
    const file = `${key.replaceAll(':', '_')}_${id}.jsonl`;
    writeLines(
      join(folder, 'transcripts', file),
      { type: 'session', id, key, created: atHour(day) },
      { type: 'user', content: `question ${i}`, ts: atHour(day) },
      { type: 'assistant', content: `answer ${i}`, ts: atHour(day, 10) },
    );
    const times = { created_at: atHour(day), updated_at: atHour(day, 10) };
    index[key] = { session_key: key, session_id: id, ...times, message_count: 1, transcript_file: file };
  }
  writeIndex(join(folder, 'sessions.json'), index);
  return root;
}

/** An index under `sessions`, lines without ids, channel logs beside the sessions. */
export function zyhiveHome(root: string): string {
  const agent = join(root, 'agents', 'xiuliu');
  const sessions: Record<string, object> = {};
  for (const [i, day] of DAYS.entries()) {
    const id = `ses-${1_708_300_000_000 + i}`;
    const message = (role: string, content: unknown, hour: number): object => ({
      ...{ type: 'message', message: { role, content } },
      timestamp: ms(day, hour),
    });
    writeLines(
      join(agent, 'sessions', `${id}.jsonl`),
      { type: 'session', version: 3, agentId: 'xiuliu', createdAt: ms(day) },
      message('user', `question ${i}`, 9),
      message('assistant', [{ type: 'text', text: `answer ${i}` }], 10),
    );
    const facts = { messageCount: 2, createdAt: ms(day), lastAt: ms(day, 10), tokenEstimate: 12 };
    sessions[id] = { id, agentId: 'xiuliu', filePath: `${id}.jsonl`, title: `Plan ${i}`, ...facts };
  }
  writeIndex(join(agent, 'sessions', 'sessions.json'), { sessions });
  writeLines(join(agent, 'convlogs', 'telegram--100123.jsonl'), {
    ...{ ts: ms(DAYS[0]), role: 'user', content: 'hello', channelId: '-100123', channelType: 'telegram' },
  });
  return root;
}

export interface ZeroclawSession {
  readonly id: string;
  readonly key: string;
  readonly day?: string;
  readonly status?: string;
}

/** The tables of ZeroClaw; the index names the last session of each key. */
export function zeroclawHome(root: string, sessions: readonly ZeroclawSession[]): string {
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
  for (const { id, key, day = DAYS[0], status = 'active' } of sessions) {
    const [from, to] = [atHour(day), atHour(day, 10)];
    database.prepare('INSERT INTO sessions VALUES (?, ?, ?, NULL, ?, ?)').run(id, key, status, from, to);
    database.prepare('INSERT OR REPLACE INTO session_index VALUES (?, ?, ?)').run(key, id, to);
    const say = database.prepare(
      'INSERT INTO session_messages (session_id, role, content, created_at) VALUES (?, ?, ?, ?)',
    );
    say.run(id, 'user', `question of ${id}`, from);
    say.run(id, 'assistant', `answer of ${id}`, to);
  }
  database.close();
  return root;
}
