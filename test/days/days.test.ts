// @module-tag long
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { startServer } from '../support/processes/command-line.ts';
import { count, Day } from './day.ts';
import { NEWEST, writeClassic, writeClaw0, writeOpenClaw, writeZeroclaw, writeZyhive } from './homes.ts';

/** What every system's user does the same: resume, leave, come back, lose the process, continue, import again. */
async function resumeAndCrash(day: Day, newest: string): Promise<void> {
  expect(day.succeed([], ['what is my name?'])).toContain('your name is Ada');
  expect(day.sessions()[0]?.id).toBe(newest);
  expect(day.succeed(['-c', '-p', 'what is my name?'])).toContain('your name is Ada');
  expect(count(day.texts(newest), 'what is my name?')).toBe(2);

  await day.killDuringAnswer(['-c'], 'and what did I build in my garden?');
  expect(day.succeed(['-c', '-p', 'who am I? what is my name?'])).toContain('your name is Ada');
  const texts = day.texts(newest);
  expect(count(texts, 'and what did I build in my garden?')).toBeGreaterThanOrEqual(1);
  expect(texts.filter((each) => each === 'and what did I build in my garden?')).toHaveLength(1);

  const before = day.sessions();
  day.succeed(['import', day.source, '--yes']);
  expect(day.sessions()).toEqual(before);
  expect(day.succeed(['verify'])).toContain('clean');
}

test('a day of a claw0 user: import, resume, /new, /switch by prefix, /context, /compact, crash, export', async () => {
  using day = new Day('claw0');
  writeClaw0(day.source);
  day.succeed(['import', day.source, '--yes']);
  expect(day.sessions().map(({ id, title }) => [id, title])).toEqual([
    ['33333333', expect.anything()],
    ['22222222', expect.anything()],
    ['11111111', expect.anything()],
  ]);
  expect(day.sessions()[0]?.lastAt).toBe(NEWEST);
  expect(day.texts('22222222').join('\n')).toContain('{"port": 8080}');
  await resumeAndCrash(day, '33333333');

  const said = day.succeed(
    [],
    [
      '/new my-project',
      'Tell me about Python generators',
      '/new experiments',
      '2+2?',
      '/switch my-p',
      '/context',
      '/compact',
      '/sessions',
      '/history',
    ],
  );
  expect(said).toContain('my-project');
  expect(said).toMatch(/^Context usage: ~[\d,]+ \/ 180,000 tokens$/m);
  expect(said).toMatch(/^\[[#-]{30}\] \d+\.\d%$/m);
  expect(said).toContain('Tell me about Python generators');

  const out = join(day.home, 'claw0-out');
  day.succeed(['export', '--all', '--profile', 'claw0', '--out', out]);
  const agent = join(out, 'workspace', '.sessions', 'agents', 'main');
  expect(Object.keys(JSON.parse(readFileSync(join(agent, 'sessions.json'), 'utf8')))).toContain('33333333');
  expect(readFileSync(join(agent, 'sessions', '22222222.jsonl'), 'utf8')).toContain(
    '"tool_use_id":"toolu_1"',
  );
}, 300_000);

test('a day of a claw0 classic user: the keys <agent>:<channel>:<peer> reach the same sessions', async () => {
  using day = new Day('claw0-classic');
  writeClassic(day.source);
  day.succeed(['import', day.source, '--yes']);
  expect(day.sessions().map(({ id }) => id)).toEqual(['cccccccccccc', 'bbbbbbbbbbbb', 'aaaaaaaaaaaa']);
  expect(day.texts('bbbbbbbbbbbb').join('\n')).toContain('{"key": "value"}');
  await resumeAndCrash(day, 'cccccccccccc');

  const ben = await day.receive({ channel: 'telegram', peer: 'ben', text: 'hello again' });
  expect(ben.sessionId).toBe('aaaaaaaaaaaa');
  const said = day.succeed(
    [],
    ['/sessions', '/history', '/new', 'a new one', '/switch main:cli:user_101500', '/history'],
  );
  expect(said).toContain('read the file');
  // Its key is the beginning of the other one.
  expect(day.succeed([], ['/switch main:cli:user', '/history'])).toContain('my name is Ada');

  const out = join(day.home, 'classic-out');
  day.succeed(['export', '--all', '--profile', 'claw0-classic', '--out', out]);
  const folder = join(out, 'workspace', '.sessions');
  const index = JSON.parse(readFileSync(join(folder, 'sessions.json'), 'utf8')) as Record<
    string,
    { transcript_file: string; session_id: string }
  >;
  expect(index['main:telegram:ben']?.session_id).toBe('aaaaaaaaaaaa');
  expect(index['main:cli:user_101500']?.session_id).toBe('bbbbbbbbbbbb');
  expect(Object.keys(index)).toContain('main:cli:user');
  for (const { transcript_file: file } of Object.values(index))
    expect(existsSync(join(folder, 'transcripts', file)), file).toBe(true);
}, 300_000);

test('a day of a ZeroClaw user: thread over group over direct chat, and the boundary of the compaction', async () => {
  using day = new Day('zeroclaw');
  writeZeroclaw(day.source);
  day.succeed(['import', day.source, '--yes']);
  expect(day.sessions().map(({ id }) => id)).toEqual(['z-ada', 'z-ben', 'z-thread', 'z-group']);
  await resumeAndCrash(day, 'z-ada');

  const from = { sender: { id: 'ada' }, mentioned: true } as const;
  const direct = await day.receive({ channel: 'telegram', peer: 'ben', text: 'what is my name?' });
  expect(direct).toMatchObject({ sessionId: 'z-ben', text: expect.stringContaining('your name is Ben') });
  const group = { channel: 'discord', peer: 'garden', peerKind: 'group', ...from } as const;
  expect((await day.receive({ ...group, text: 'May?' })).sessionId).toBe('z-group');
  expect((await day.receive({ ...group, thread: '7', text: 'Basil?' })).sessionId).toBe('z-thread');
  expect(day.succeed(['-s', 'z-ada'], ['/compact', '/context'])).toContain('tokens');

  const out = join(day.home, 'zeroclaw-out');
  day.succeed(['export', '--all', '--profile', 'zeroclaw', '--out', out]);
  const database = new DatabaseSync(join(out, 'workspace', 'memory', 'sessions.db'), { readOnly: true });
  const active = database
    .prepare('SELECT active_session_id FROM session_index WHERE session_key = ?')
    .all('direct:telegram:ben');
  const roles = database.prepare('SELECT DISTINCT role FROM session_messages ORDER BY role').all();
  database.close();
  expect(active).toEqual([{ active_session_id: 'z-ben' }]);
  expect(roles).toEqual([{ role: 'assistant' }, { role: 'user' }]);
}, 300_000);

test('a day of an OpenClaw user: main chat, group, topic, /new and /stop, and an unknown model in the index', async () => {
  using day = new Day('clawdbot');
  writeOpenClaw(day.source);
  day.succeed(['import', day.source, '--yes']);
  const [main, topic, group] = day.sessions();
  expect([main?.sessionKey, topic?.sessionKey, group?.sessionKey]).toEqual([
    'agent:main:main',
    'agent:main:telegram:group:-1001:topic:42',
    'agent:main:telegram:group:-1001',
  ]);
  await resumeAndCrash(day, main?.id ?? '');
  expect(day.succeed(['-s', 'agent:main:main', '-p', 'what is my name?', '--model', 'offline'])).toContain(
    'your name is Ada',
  );

  const from = {
    channel: 'telegram',
    peer: '-1001',
    peerKind: 'group',
    sender: { id: 'ada' },
    mentioned: true,
  } as const;
  expect((await day.receive({ ...from, text: 'And the hotel?' })).sessionId).toBe(group?.id);
  expect((await day.receive({ ...from, thread: '42', text: 'Dessert?' })).sessionId).toBe(topic?.id);
  const said = day.succeed([], ['/context', '/compact', '/stop', '/new', 'fresh start', '/undo', '/status']);
  expect(said).toContain('agent:main:main');

  const out = join(day.home, 'openclaw-out');
  day.succeed(['export', '--all', '--profile', 'clawdbot', '--out', out]);
  const folder = join(out, 'agents', 'main', 'sessions');
  const index = JSON.parse(readFileSync(join(folder, 'sessions.json'), 'utf8')) as Record<
    string,
    { sessionId: string }
  >;
  expect(index['agent:main:telegram:group:-1001']?.sessionId).toBe(group?.id);
  expect(existsSync(join(folder, `${group?.id}.jsonl`))).toBe(true);
}, 300_000);

test('a day of a ZyHive user: its HTTP calls in the shapes of its document, and its channel log', async () => {
  using day = new Day('zyhive');
  writeZyhive(day.source);
  day.succeed(['import', day.source, '--yes']);
  const newest = day.sessions()[0]?.id ?? '';
  expect(newest).toBe('ses-1772528400000');
  await resumeAndCrash(day, newest);

  const group = { agentId: 'xiuliu', channel: 'telegram', peer: '-100123', peerKind: 'group' } as const;
  const again = await day.receive({ ...group, sender: { id: 'ben' }, mentioned: true, text: 'hello again' });
  expect(again.sessionId).toBe('telegram--100123');

  await using server = await startServer(day.home, ['--profile', 'zyhive', '--model', 'offline']);
  const token = readFileSync(server.tokenFile, 'utf8').trim();
  const call = (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(`${server.url}/api/agents/xiuliu${path}`, {
      ...init,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    });
  const chat = async (body: object): Promise<readonly Record<string, unknown>[]> => {
    const answer = await (await call('/chat', { method: 'POST', body: JSON.stringify(body) })).text();
    return [...answer.matchAll(/^data: (.*)$/gm)].map(
      ([, data = '']) => JSON.parse(data) as Record<string, unknown>,
    );
  };
  const done = (await chat({ message: 'what is my name?', sessionId: newest, context: '', images: [] })).at(
    -1,
  );
  expect(done).toMatchObject({ type: 'done', sessionId: newest, tokenEstimate: expect.any(Number) });
  const fresh = (await chat({ message: '你好' })).at(-1)?.['sessionId'];
  expect(fresh).toMatch(/^ses-\d{13}$/);
  expect(
    (await call(`/sessions/${fresh}`, { method: 'PATCH', body: JSON.stringify({ title: '问候' }) })).ok,
  ).toBe(true);
  expect(await (await call('/sessions')).text()).toContain('问候');
  expect(await (await call(`/sessions/${newest}`)).text()).toContain('my name is Ada');
  expect((await call(`/sessions/${fresh}`, { method: 'DELETE' })).ok).toBe(true);
  expect(await (await call('/sessions')).text()).not.toContain('问候');

  const out = join(day.home, 'zyhive-out');
  day.succeed(['export', '--all', '--profile', 'zyhive', '--out', out]);
  const agent = join(out, 'agents', 'xiuliu');
  const index = JSON.parse(readFileSync(join(agent, 'sessions', 'sessions.json'), 'utf8')) as {
    sessions: Record<string, { lastAt: number }>;
  };
  expect(index.sessions[newest]?.lastAt).toBeGreaterThan(1_708_300_000_000);
  const log = readFileSync(join(agent, 'convlogs', 'telegram--100123.jsonl'), 'utf8');
  expect(log).toMatch(/hello from the group.*\n.*hello again/);
  expect(readFileSync(join(agent, 'sessions', 'telegram--100123.jsonl'), 'utf8')).toContain('hello again');
}, 300_000);
