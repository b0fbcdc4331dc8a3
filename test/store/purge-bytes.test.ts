import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openStore } from '../../src/config/open.ts';
import type { ConvlogChatRef } from '../../src/store/port/convlog.ts';
import type { NewEntry, Store } from '../../src/store/port/store.ts';
import { filesHolding } from '../support/store/home-bytes.ts';
import { until } from '../support/store/store-faults.ts';

const KEY = 'agent:main:direct:telegram:ann';
const CHAT: ConvlogChatRef = { agentId: 'main', channelType: 'telegram', channelId: '42' };
/** Marks of the conversation that is purged, and of the one that stays. */
const MARKS = [
  'said',
  'title',
  'label',
  'answer',
  'call',
  'result',
  'blob',
  'queued',
  'summary',
  'noted',
  'log',
].map((name) => `gone-${name}-7f3a91`);
const KEPT = 'kept-9c2e55';
const mark = (name: string): string => MARKS.find((one) => one.includes(`-${name}-`)) ?? '';

const say = (content: unknown, role = 'user'): NewEntry => ({ type: 'message', message: { role, content } });

let home = '';
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'reprise-purge-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const open = (kind: 'jsonl' | 'sqlite'): Promise<Store> => openStore({ kind, home, durability: 'os' });

/** A session with its marks wherever a store keeps text, written and rewritten so that free pages have them too. */
async function converse(store: Store): Promise<string> {
  const log = (content: string) => ({
    ...CHAT,
    role: 'user' as const,
    content,
    sender: { id: 'u', name: 'Ann' },
  });
  const { sessionId } = await store.inbox.receive({
    sessionKey: KEY,
    source: 'telegram',
    idempotencyKey: 'm1',
    body: { text: mark('said') },
    log: log(mark('log')),
  });
  for (let i = 0; i < 40; i++) {
    await store.append(sessionId, [
      say(`${mark('said')} ${i} ${'x'.repeat(200 * (i % 5))}`),
      say(
        [
          { type: 'text', text: mark('answer') },
          { type: 'toolCall', id: `c${i}`, name: 'find', arguments: { for: mark('call') } },
        ],
        'assistant',
      ),
      {
        type: 'message',
        message: {
          role: 'toolResult',
          toolCallId: `c${i}`,
          toolName: 'find',
          content: [{ type: 'text', text: mark('result') }],
        },
      },
    ]);
    if (i % 10 === 0)
      await store.patch(sessionId, { label: `${mark('label')} ${i}` }, { title: `${mark('title')} ${i}` });
  }
  const data = Buffer.from(`${mark('blob')}${'y'.repeat(70_000)}`).toString('base64');
  await store.append(sessionId, [say([{ type: 'image', data, mimeType: 'image/png' }])]);
  await store.append(sessionId, [
    { type: 'compaction', summary: mark('summary'), firstKeptEntryId: 'x', tokensBefore: 1 },
  ]);
  await store.notes.put('summary-1', [{ id: sessionId, seq: 1, value: { summary: mark('noted') } }]);
  await store.append(sessionId, [say('the end')], { log: [{ ...log(mark('log')), role: 'assistant' }] });
  await store.inbox.receive({ sessionKey: KEY, source: 'telegram', body: { text: mark('queued') } });
  return sessionId;
}

/** Another conversation of the same agent, also in the same chat, before and after the one that goes. */
async function other(store: Store, id: string): Promise<void> {
  await store.create({ id, key: 'agent:main:main' });
  for (let i = 0; i < 20; i++) await store.append(id, [say(`${KEPT} ${i}`)]);
  await store.convlog.append([{ ...CHAT, role: 'user', content: `${KEPT} in the chat`, sessionId: id }]);
}

describe.each(['jsonl', 'sqlite'] as const)('purge in a %s home', (kind) => {
  test('leaves no byte of the conversation in any file, and all of the others', async () => {
    {
      await using store = await open(kind);
      await other(store, 'before');
      const id = await converse(store);
      await other(store, 'after');
      await store.search({ text: 'gone' });
      await store.reindex();
      await store.delete(id);
      if (kind === 'jsonl') {
        // What a damaged line and a cut log leave beside the transcripts.
        mkdirSync(join(home, 'quarantine'), { recursive: true });
        writeFileSync(join(home, 'quarantine', `${id}.jsonl@120.0`), mark('said'));
      }
      expect(filesHolding(home, MARKS).length).toBeGreaterThan(5);
      await store.purge(id);
      expect(filesHolding(home, MARKS)).toEqual([]);
      expect((await store.convlog.read(CHAT)).lines.map(({ content }) => content)).toEqual([
        `${KEPT} in the chat`,
        `${KEPT} in the chat`,
      ]);
      expect((await store.convlog.list()).chats).toMatchObject([
        { messages: 2, lastText: `${KEPT} in the chat`, members: [] },
      ]);
      // The channel delivers it again: it is not accepted a second time.
      const again = {
        sessionKey: KEY,
        source: 'telegram',
        idempotencyKey: 'm1',
        body: { text: mark('said') },
      };
      expect(await store.inbox.receive(again)).toMatchObject({ fresh: false });
    }
    expect(filesHolding(home, MARKS)).toEqual([]);
    await using store = await open(kind);
    for (const id of ['before', 'after'])
      expect((await store.read(id, { limit: 100 })).entries).toHaveLength(21);
    expect((await store.verify()).status).toBe('clean');
    expect((await store.convlog.read(CHAT)).lines).toHaveLength(2);
  });

  test('keeps the lines of the channel log when it is asked to', async () => {
    await using store = await open(kind);
    const id = await converse(store);
    await store.delete(id);
    await store.purge(id, { keepChannelLog: true });
    const { lines } = await store.convlog.read(CHAT);
    expect(lines.map(({ content }) => content)).toEqual([mark('log'), mark('log')]);
  });
});

describe('purge in a jsonl home', () => {
  test('removes the lines of a channel log that was read back from its file', async () => {
    let id = '';
    {
      await using store = await open('jsonl');
      id = await converse(store);
      await store.convlog.append([{ ...CHAT, role: 'user', content: KEPT }]);
      await store.append(id, [say(mark('log')), say(mark('log'), 'assistant')]);
    }
    for (const suffix of ['', '-wal', '-shm']) rmSync(join(home, `control.db${suffix}`), { force: true });
    await using store = await open('jsonl');
    await store.delete(id);
    await store.purge(id);
    expect(filesHolding(home, MARKS)).toEqual([]);
    expect((await store.convlog.read(CHAT)).lines.map(({ content }) => content)).toEqual([KEPT]);
  });

  test('leaves what another tool wrote into a channel log, and the log accepts new lines', async () => {
    await using store = await open('jsonl');
    const id = await converse(store);
    const file = join(home, 'agents/main/convlogs/telegram/42.jsonl');
    await until('the log follows', () =>
      filesHolding(home, [mark('log')]).some((name) => name.startsWith('agents')),
    );
    appendFileSync(file, '{"of":"another tool"}\n');
    await store.delete(id);
    await store.purge(id);
    expect(readFileSync(file, 'utf8')).toBe('{"of":"another tool"}\n');
    await store.convlog.append([{ ...CHAT, role: 'user', content: KEPT }]);
    await until('the log follows', () => readFileSync(file, 'utf8').includes(KEPT));
    expect(readFileSync(file, 'utf8').split('\n')).toHaveLength(3);
  });

  test('is finished at the next open where it was cut short after its commit', async () => {
    let id = '';
    {
      await using store = await open('jsonl');
      id = await converse(store);
      await store.delete(id);
    }
    const saved = new Map(
      ['agents/main/convlogs/telegram/42.jsonl', `agents/main/sessions/${id}.jsonl`].map((name) => [
        name,
        readFileSync(join(home, name)),
      ]),
    );
    {
      await using store = await open('jsonl');
      await store.purge(id);
    }
    // As a kill between the commit and the removal leaves it.
    for (const [name, bytes] of saved) writeFileSync(join(home, name), bytes);
    const db = new DatabaseSync(join(home, 'control.db'));
    const pending = [
      { agentId: 'main', id, chats: [{ agent_id: 'main', channel_type: 'telegram', channel_id: '42' }] },
    ];
    db.prepare('INSERT INTO meta VALUES (?, ?)').run('erasing', JSON.stringify(pending));
    db.close();
    expect(filesHolding(home, MARKS)).not.toEqual([]);
    await using store = await open('jsonl');
    await until('it is finished', () => filesHolding(home, MARKS).length === 0);
    expect((await store.convlog.list()).chats).toEqual([]);
  });

  test('names quarantined databases that have it and leaves them in place', async () => {
    await using store = await open('jsonl');
    const ids = [await converse(store), await converse(store)];
    mkdirSync(join(home, 'quarantine'), { recursive: true });
    const file = join(home, 'quarantine', 'control.db.2026-01-01T00-00-00-000Z');
    writeFileSync(file, `a damaged page of ${ids[0]} that says ${mark('said')}`);
    for (const id of new Set(ids)) await store.delete(id);
    const id = ids[0] ?? '';
    expect((await store.purge(id)).files).toEqual([file]);
    expect(filesHolding(home, MARKS)).toEqual([
      `quarantine/control.db.2026-01-01T00-00-00-000Z: ${mark('said')}`,
    ]);
  });
});
