import { createHash } from 'node:crypto';
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import pg from 'pg';
import { afterAll, describe, expect, test } from 'vitest';
import { parseTranscript, project } from '../../src/exports/transcript.ts';
import { openReprise, openStore, type Reprise, type Store, type Tool } from '../../src/index.ts';
import { createScriptedModel, type ScriptedModel } from '../../testing/index.ts';
import expected from '../fixtures/homes-2026-11/expected.json' with { type: 'json' };
import { type FreshDatabase, freshDatabase } from '../support/postgres/postgres.ts';

const FIXTURES = join(import.meta.dirname, '../fixtures/homes-2026-11');
const KINDS = ['jsonl', 'sqlite', 'postgres'] as const;
type Kind = (typeof KINDS)[number];

const folder = mkdtempSync(join(tmpdir(), 'reprise-earlier-'));
const databases: FreshDatabase[] = [];
afterAll(async () => {
  for (const database of databases) await database[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

/** A copy of a fixture, opened with the code of today. */
async function openCopy(kind: Kind, name: string): Promise<Store> {
  if (kind === 'postgres') {
    const database = await freshDatabase();
    databases.push(database);
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    await client.query(gunzipSync(readFileSync(join(FIXTURES, `${name}.sql.gz`))).toString());
    await client.end();
    return openStore({ kind, url: database.url });
  }
  const home = mkdtempSync(join(folder, `${name}-`));
  cpSync(join(FIXTURES, name), home, { recursive: true });
  for (const file of globSync(join(home, '**/*.gz'))) {
    writeFileSync(file.slice(0, -'.gz'.length), gunzipSync(readFileSync(file)));
    rmSync(file);
  }
  return openStore({ kind, home, durability: 'os' });
}

const ran: string[] = [];
const weather: Tool = {
  name: 'weather',
  description: 'Reports the weather of a city.',
  inputSchema: { type: 'object', properties: { city: { type: 'string' } } },
  safe: true,
  run: ({ city }) => {
    ran.push(`weather in ${String(city)}`);
    return `It rains in ${String(city)}.`;
  },
};
const pay: Tool = {
  name: 'pay',
  description: 'Pays a bill.',
  inputSchema: { type: 'object' },
  run: () => {
    ran.push('pay');
    return 'paid';
  },
};

interface Opened extends AsyncDisposable {
  readonly reprise: Reprise;
  readonly model: ScriptedModel;
}

async function openEngine(store: Store, tools: readonly Tool[] = [weather]): Promise<Opened> {
  const model = createScriptedModel([], { contextWindow: 200_000 });
  const reprise = await openReprise({
    store,
    model,
    tools,
    agents: { main: {}, coder: {}, planner: {}, photos: {}, defaults: { subagents: {} } },
    compaction: { background: false, cut: { kind: 'keep-turns', turns: 1 } },
    session: { queue: { debounceMs: 0 } },
    // The test decides when a queued message runs.
    run: false,
  });
  return { reprise, model, [Symbol.asyncDispose]: () => reprise[Symbol.asyncDispose]() };
}

function inShort(bytes: Uint8Array): string[] {
  const target = { family: 'generic', provider: 'scripted', model: 'scripted' } as const;
  return project(parseTranscript(bytes).entries, { target }).messages.map((message) => {
    const parts =
      message.role === 'tool'
        ? message.results.map(({ text }) => text)
        : message.content.map((part) =>
            'text' in part ? part.text : 'name' in part ? part.name : part.type,
          );
    return `${message.role}: ${parts.join(' | ').slice(0, 60)}`;
  });
}

async function sessionIdOf(store: Store, key: string): Promise<string> {
  const record = await store.active(key);
  if (record === undefined) throw new Error(`no session has the key ${key}`);
  return record.id;
}

describe.each(KINDS)('a home of November 2026 on %s', (kind) => {
  test('shows every session, line, setting and queued message that the version of then showed', async () => {
    await using store = await openCopy(kind, kind);
    const { sessions } = await store.list({ status: 'any', limit: 100 });
    expect(sessions).toHaveLength(expected[kind].sessions.length);
    for (const { sha256, context, ...record } of expected[kind].sessions) {
      expect(await store.get(record.id)).toMatchObject(record);
      const bytes = await store.exportSession(record.id);
      expect(createHash('sha256').update(bytes).digest('hex'), record.title).toBe(sha256);
      expect(inShort(bytes)).toEqual(context);
    }
    expect(await store.inbox.pending()).toMatchObject(expected[kind].pending);
    expect(await store.verify()).toEqual({ status: 'clean', findings: [] });
  });

  test('finds its words, its image, its channel log, its pins, its subagent and its trash', async () => {
    await using at = await openEngine(await openCopy(kind, kind));
    const { reprise } = at;
    const { store } = reprise;
    const found = await reprise.search({ text: 'umbrella', budgetMs: 60_000 });
    expect(found.hits.map(({ role }) => role).sort()).toEqual(['assistant', 'user']);
    expect((await reprise.search({ text: 'forgotten' })).hits).toEqual([]);

    const photos = await store.exportSession(await sessionIdOf(store, 'agent:photos:main'));
    const [, hash = ''] = /"blob":"(sha256:[0-9a-f]{64})"/.exec(Buffer.from(photos).toString()) ?? [];
    expect(await store.blob(await sessionIdOf(store, 'agent:photos:main'), hash)).toHaveLength(70_000);

    const { lines } = await reprise.convlog.read({
      agentId: 'main',
      channelType: 'telegram',
      channelId: 'ada',
    });
    expect(lines.map(({ role, content }) => `${role}: ${content}`)).toEqual([
      'user: Good morning.',
      'assistant: Hello, Ada.',
      'user: Good night.',
      'assistant: Goodbye, Ada.',
    ]);
    const book = await reprise.session('agent:main:main');
    expect(await book.pins()).toMatchObject([{ text: 'Please write chapter 1.' }]);
    const [run] = await reprise.runs(await sessionIdOf(store, 'agent:planner:main'));
    expect(run).toMatchObject({ label: 'bug hunt', status: 'done', result: 'told' });
    const trash = await store.list({ status: 'deleted' });
    expect(trash.sessions.map(({ title }) => title)).toEqual(['Forget this.']);
    const { total } = await reprise.usage({ from: '2026-01-01', to: '2030-01-01', budgetMs: 60_000 });
    expect(total.input).toBe(2400);
    const coder = await reprise.session('agent:coder:main');
    expect((await coder.explain()).calls.map(({ verified }) => verified)).toEqual([true]);
  });

  test('continues: the queued message runs, undo and redo work, each session takes a new message', async () => {
    await using at = await openEngine(await openCopy(kind, kind));
    const { reprise, model } = at;
    const { store } = reprise;
    const queue = await reprise.session('agent:main:queue');
    model.push('The second answer.');
    const [pending] = await store.inbox.pending();
    expect((await queue.resume(pending?.inboxId ?? '').result).text).toBe('The second answer.');
    await reprise.idle();

    const book = await reprise.session('agent:main:main');
    expect(await book.undo()).toMatchObject({ undone: 'turn' });
    expect(await book.undo()).toMatchObject({ undone: 'compaction' });
    model.push('Chapter 4, written again.');
    await book.send('Please write chapter 4 again.').result;
    const request = JSON.stringify(model.requests.at(-1)?.messages);
    for (const chapter of [1, 2, 3]) expect(request).toContain(`Chapter ${chapter}: the river`);
    expect(request).not.toContain('A summary:');

    const coder = await reprise.session('agent:coder:main');
    await coder.undo();
    await coder.redo();
    const trash = expected[kind].sessions.find(({ status }) => status === 'deleted');
    await store.restore(trash?.id ?? '');
    for (const { id } of expected[kind].sessions) {
      model.push('A new answer.');
      expect((await (await reprise.session({ id })).send('A new question.').result).text).toBe(
        'A new answer.',
      );
      await reprise.idle();
    }
    for (const { id } of expected[kind].sessions) {
      const { entries, issues } = parseTranscript(await store.exportSession(id));
      expect(issues.examples).toEqual([]);
      expect(JSON.stringify(entries)).toContain('A new answer.');
    }
    expect(await store.verify()).toEqual({ status: 'clean', findings: [] });
    model.assertDone();
  });

  test('continues after kill -9: the answer is written, the payment is not made twice, the queue is kept', async () => {
    ran.length = 0;
    await using at = await openEngine(await openCopy(kind, `${kind}-killed`), [weather, pay]);
    const { reprise, model } = at;
    const { store } = reprise;
    const pending = await store.inbox.pending();
    expect(pending.map(({ body, state }) => `${state}: ${String(body['text'])}`)).toEqual([
      'running: Pay the bill.',
      'running: What is the weather?',
      'accepted: And tomorrow?',
    ]);
    const [bill, question, queued] = pending;
    const payer = await reprise.session('agent:main:payer');
    await expect(payer.resume(bill?.inboxId ?? '').result).rejects.toMatchObject({ code: 'ABORTED' });
    expect(await reprise.inbox(bill?.inboxId ?? '')).toMatchObject({ status: 'interrupted' });

    const session = await reprise.session('agent:main:main');
    model.push('It rains today and tomorrow.', 'It was not paid.');
    const first = session.resume(question?.inboxId ?? '');
    const second = session.resume(queued?.inboxId ?? '');
    // The queued message steers, so it joins the turn that continues.
    for (const { result } of [first, second])
      expect((await result).text).toBe('It rains today and tomorrow.');
    const request = JSON.stringify(model.requests[0]?.messages);
    for (const text of ['It rains in Bonn.', 'And tomorrow?']) expect(request).toContain(text);
    await payer.send('Was it paid?').result;
    await reprise.idle();
    expect(ran).toEqual([]);
    model.assertDone();
    expect(await store.verify()).toEqual({ status: 'clean', findings: [] });
  });
});
