import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { openSource } from '../../../src/interop/import/detect.ts';
import { everySession, freshFolder, freshStore, importFrom } from '../../support/store/interop-home.ts';

const at = '2026-01-01T00:00:00.000Z';
const lines = (...records: readonly object[]): string =>
  records.map((record) => `${JSON.stringify(record)}\n`).join('');

/** In the shape each tool writes; the words are ours. */
const claude = lines(
  { type: 'mode', mode: 'normal', sessionId: 's' },
  { type: 'file-history-snapshot', messageId: 'm', snapshot: {}, isSnapshotUpdate: false },
  ...[
    { parentUuid: null, type: 'user', message: { role: 'user', content: 'hello' }, uuid: 'u1' },
    {
      ...{ parentUuid: 'u1', type: 'assistant', uuid: 'u2' },
      message: { id: 'msg_1', role: 'assistant', content: [{ type: 'text', text: 'hi' }] },
    },
  ].map((record) => ({ ...record, isSidechain: false, sessionId: 's', timestamp: at, version: '2.1' })),
);
const gemini = lines(
  { sessionId: 's', projectHash: 'p', startTime: at, lastUpdated: at, kind: 'main' },
  { $set: { lastUpdated: at } },
  { id: '1', timestamp: at, type: 'user', content: [{ text: 'hello' }] },
  { id: '2', timestamp: at, type: 'gemini', content: 'hi', model: 'm' },
);
const codex = lines(
  { timestamp: at, type: 'session_meta', payload: { id: 's', cwd: '/x' } },
  {
    ...{ timestamp: at, type: 'response_item' },
    payload: { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hello' }] },
  },
);
const opencode = JSON.stringify(
  { info: { id: 'ses_1', title: 't' }, messages: [{ info: {}, parts: [] }] },
  null,
  2,
);
const langchain = JSON.stringify([{ type: 'human', data: { content: 'hello' } }], null, 1);
const geminiOld = JSON.stringify({ sessionId: 's', projectHash: 'p', startTime: at, messages: [] }, null, 2);
const chatgpt = JSON.stringify([{ title: 't', mapping: {} }]);
const claudeAi = JSON.stringify([{ uuid: 'u', name: 'n', chat_messages: [] }]);

function fileOf(name: string, text: string, folder: string = freshFolder()): string {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
}

function databaseOf(sql: string): string {
  const path = join(freshFolder(), 'data.db');
  const database = new DatabaseSync(path);
  database.exec(sql);
  database.close();
  return path;
}

describe('a file of a tool that cannot be imported yet', () => {
  test.each([
    ['a Claude Code session', fileOf('c.jsonl', claude)],
    ['a Codex session', fileOf('c.jsonl', codex)],
    ['a Gemini CLI session', fileOf('g.jsonl', gemini)],
    ['a Gemini CLI session', fileOf('g.json', geminiOld)],
    ['an opencode session', fileOf('o.json', opencode)],
    ['a LangChain chat history', fileOf('l.json', langchain)],
    ['a ChatGPT export', fileOf('g.json', chatgpt)],
    ['a claude.ai export', fileOf('a.json', claudeAi)],
    [
      'an opencode session',
      databaseOf(
        'CREATE TABLE session (a); CREATE TABLE message (a); CREATE TABLE part (a); CREATE TABLE project (a)',
      ),
    ],
    ['an OpenClaw database', databaseOf('CREATE TABLE transcript_events (a)')],
  ])('is refused by name: %s', async (name, path) => {
    await expect(openSource(path)).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      message: `${path} is ${name}, which cannot be imported yet`,
    });
  });

  test('is reported as unreadable in a folder, and the sessions beside it are imported', async () => {
    const folder = freshFolder();
    fileOf('claude.jsonl', claude, folder);
    fileOf('flat.jsonl', lines({ type: 'user', content: 'hello', ts: 1735689601 }), folder);
    const store = await freshStore();
    const { sessions } = await importFrom(store, folder);
    expect(sessions.map(({ action }) => action)).toEqual(['unreadable', 'new']);
    expect(sessions[0]?.notes[0]).toContain('Claude Code');
    expect(await everySession(store)).toHaveLength(1);
  });
});

describe('an import never succeeds with nothing in it', () => {
  const record = { timestamp: at, parentId: null };
  test.each([
    [
      'messages whose content is missing',
      lines({ ...record, type: 'message', id: 'a', message: { role: 'user' } }),
      'contains 1 message, but no text or image that can be read',
    ],
    [
      'messages whose content is empty',
      lines({ ...record, type: 'message', id: 'a', message: { role: 'assistant', content: [] } }),
      'contains 1 message, but no text or image that can be read',
    ],
    [
      'a header alone',
      lines({ type: 'session', version: 3, id: 's', timestamp: at }),
      'contains no messages',
    ],
    [
      'items of an API with the content beside the type',
      lines({ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'x' }] }),
      'not a transcript',
    ],
    [
      'records that share only their type with claw0',
      lines(
        { type: 'user', message: { role: 'user', content: 'x' }, ts: 1 },
        { type: 'tool_result', id: 'x' },
      ),
      'not a transcript',
    ],
  ])('%s', async (_, text, why) => {
    const path = fileOf('x.jsonl', text);
    const store = await freshStore();
    const refusal = await importFrom(store, path).then(
      ({ sessions }) => `${sessions[0]?.action} ${sessions[0]?.notes.join()}`,
      (error: Error) => `unreadable ${error.message}`,
    );
    expect(refusal).toMatch(/^unreadable /);
    expect(refusal).toContain(why);
    expect(await everySession(store)).toEqual([]);
  });

  test('messages without a time are imported, and the report says how many', async () => {
    const path = fileOf('x.jsonl', lines({ role: 'user', content: 'hello' }));
    const { sessions } = await importFrom(await freshStore(), path);
    expect(sessions[0]?.notes).toContain('1 messages have no time; they are dated 1970');
  });
});
