import { appendFileSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { zstdCompressSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { rebuildHistory } from '../../../src/exports/transcript.ts';
import type { Entry, Store } from '../../../src/index.ts';
import { isObject, type JsonObject } from '../../../src/transcript/json.ts';
import { pathEntries } from '../../../src/transcript/tree.ts';
import {
  entriesOf,
  everySession,
  freshFolder,
  freshStore,
  importFrom,
} from '../../support/store/interop-home.ts';
import {
  AT,
  claudeHome,
  claudeLines,
  codexHome,
  codexLines,
  TOOL_HOMES,
  WORDS,
  writeJsonLines,
} from '../../support/store/tool-homes.ts';

const textsOf = (entries: readonly Entry[]): string[] =>
  entries.flatMap(({ message }) => {
    const content = isObject(message) ? message['content'] : [];
    if (typeof content === 'string') return [content];
    return (content as { text?: string }[]).flatMap(({ text }) => text ?? []);
  });
const branch = async (store: Store, id: string): Promise<readonly Entry[]> =>
  pathEntries(await entriesOf(store, id));

describe.each(Object.entries(TOOL_HOMES))('a session of %s', (_, home) => {
  test('is imported with its words, call, result and times, and only once', async () => {
    const store = await freshStore();
    const path = home(freshFolder());
    const { sessions } = await importFrom(store, path);
    expect(sessions.map(({ action, notes }) => [action, notes.join()])).toEqual([
      ['new', expect.any(String)],
    ]);
    const { id = '' } = sessions[0] ?? {};
    const entries = await branch(store, id);
    const words = textsOf(entries).join(' | ');
    expect(WORDS.map((word) => words.indexOf(word))).toEqual(
      WORDS.map((word) => words.indexOf(word)).sort((a, b) => a - b),
    );
    for (const word of WORDS) expect(words).toContain(word);
    const request = JSON.stringify(rebuildHistory(entries, { format: 'anthropic' }));
    for (const part of ['"tool_use"', '"tool_result"', ...WORDS]) expect(request).toContain(part);
    expect(await store.search({ text: '猕猴桃' })).toMatchObject({ hits: [{ id }] });
    const again = await importFrom(store, path);
    expect(again.sessions.map(({ action }) => action)).toEqual(['unchanged']);
    expect(await everySession(store)).toHaveLength(1);
  });

  test('has no setting of its source, and a report of what became of its records', async () => {
    const store = await freshStore();
    const { sessions } = await importFrom(store, home(freshFolder()));
    const { settings } = await store.get(sessions[0]?.id ?? '');
    expect(settings['systemPrompt']).toBeUndefined();
    expect(settings['modelOverride']).toBeUndefined();
    expect(settings['importedFrom']).toMatchObject({
      report: { imported: { user: 2, toolResult: 1 }, raw: expect.any(Object), dropped: expect.any(Object) },
    });
  });
});

describe('Claude Code', () => {
  const root = (): string => freshFolder();

  test('lines with one message id are one answer, with its usage once', async () => {
    const store = await freshStore();
    const { sessions } = await importFrom(store, claudeHome(root()));
    const answers = (await branch(store, sessions[0]?.id ?? '')).filter(
      ({ message }) => isObject(message) && message['role'] === 'assistant',
    );
    expect(answers.map(({ message }) => (message as { content: object[] }).content.length)).toEqual([2, 1]);
    expect(
      answers.map(({ message }) => (message as { usage: { totalTokens: number } }).usage.totalTokens),
    ).toEqual([115, 115]);
  });

  test('grows line by line without a second copy of a word', async () => {
    const path = join(root(), 'projects', '-work', 'aaaaaaaa-1111-4222-8333-444444444444.jsonl');
    const store = await freshStore();
    writeJsonLines(path, claudeLines().slice(0, 3));
    for (const line of claudeLines().slice(3)) {
      await importFrom(store, path);
      appendFileSync(path, JSON.stringify(line).slice(0, 40));
      await importFrom(store, path);
      appendFileSync(path, `${JSON.stringify(line).slice(40)}\n`);
    }
    await importFrom(store, path);
    const [{ id = '' } = {}] = await everySession(store);
    expect(textsOf(await entriesOf(store, id))).toEqual(textsOf(await branch(store, id)));
    expect(textsOf(await branch(store, id))).toEqual(WORDS);
    expect((await importFrom(store, path)).sessions[0]?.action).toBe('unchanged');
  });

  test('parallel results form one chain; a rewind is a branch; a subagent is a session below it', async () => {
    const line = (uuid: string, parentUuid: string | null, second: number, fields: object): object => ({
      ...{ uuid, parentUuid, isSidechain: false, sessionId: 's', timestamp: AT(second), ...fields },
    });
    const user = (content: unknown): object => ({ type: 'user', message: { role: 'user', content } });
    const use = (id: string): object => ({
      type: 'assistant',
      message: {
        id: 'msg_1',
        role: 'assistant',
        content: [{ type: 'tool_use', id, name: 'Read', input: {} }],
      },
    });
    const result = (id: string): object =>
      user([{ type: 'tool_result', tool_use_id: id, content: `result ${id}` }]);
    const side = { isSidechain: true };
    const path = writeJsonLines(join(root(), 'bbbbbbbb-1111-4222-8333-444444444444.jsonl'), [
      line('u1', null, 1, user('ask')),
      line('m1', 'u1', 2, use('t1')),
      line('r1', 'm1', 3, result('t1')),
      line('m2', 'm1', 3, use('t2')),
      line('r2', 'm2', 4, result('t2')),
      line('u2', 'r1', 5, user('first try')),
      line('u3', 'r2', 6, user('after the rewind')),
      line('s1', null, 7, { ...user('task for the subagent'), ...side }),
      line('s2', 's1', 8, { ...user('more for the subagent'), ...side }),
      { type: 'unheard-of', sessionId: 's', payload: 1 },
    ]);
    const store = await freshStore();
    const { sessions } = await importFrom(store, path);
    const id = 'bbbbbbbb-1111-4222-8333-444444444444';
    expect(textsOf(await branch(store, id))).toEqual(['ask', 'result t1', 'result t2', 'after the rewind']);
    expect(textsOf(await entriesOf(store, id))).toContain('first try');
    expect(sessions[0]?.loss.raw).toEqual({
      'unheard-of': { count: 1, first: expect.stringContaining('line 10') },
    });
    expect(await store.get(`${id}-agent-s1`)).toMatchObject({ parentId: id, messageCount: 2 });
  });

  test('a session that is continued after it was forked stays one session with its id', async () => {
    const folder = join(root(), 'projects', '-work');
    const lines = claudeLines();
    const [first = '', second = ''] = [
      'aaaaaaaa-1111-4222-8333-444444444444',
      'cccccccc-1111-4222-8333-444444444444',
    ];
    const question = (uuid: string, content: string): JsonObject => ({
      ...{ type: 'user', uuid, parentUuid: 'u2', timestamp: AT(12), message: { role: 'user', content } },
    });
    writeJsonLines(join(folder, `${first}.jsonl`), lines);
    const copied = lines.map((line) => ({ ...line, sessionId: second }));
    writeJsonLines(join(folder, `${second}.jsonl`), [...copied, question('u8', 'in the fork')]);
    const store = await freshStore();
    expect((await importFrom(store, folder)).sessions.map(({ id }) => id)).toEqual([first]);
    const changed = writeJsonLines(join(folder, `${first}.jsonl`), [
      ...lines,
      question('u9', 'in the original'),
    ]);
    const later = new Date(Date.now() + 60_000);
    utimesSync(changed, later, later);
    expect((await importFrom(store, folder)).sessions.map(({ id }) => id)).toEqual([first]);
    expect((await store.list()).sessions).toHaveLength(1);
  });

  test('files that share lines are one session, and a compaction keeps what it preserved', async () => {
    const folder = join(root(), 'projects', '-work');
    const lines = claudeLines();
    const [first = '', second = ''] = [
      'aaaaaaaa-1111-4222-8333-444444444444',
      'cccccccc-1111-4222-8333-444444444444',
    ];
    writeJsonLines(join(folder, `${first}.jsonl`), lines);
    const copied = lines.slice(2).map((line) => ({ ...line, sessionId: second }));
    const boundary = {
      ...{
        type: 'system',
        subtype: 'compact_boundary',
        uuid: 'b1',
        parentUuid: null,
        logicalParentUuid: 'u2',
        timestamp: AT(10),
      },
      compactMetadata: {
        trigger: 'manual',
        preTokens: 99,
        preservedSegment: { headUuid: 'u2', tailUuid: 'u2' },
      },
    };
    const summary = {
      type: 'user',
      uuid: 'b2',
      parentUuid: 'b1',
      timestamp: AT(10),
      isCompactSummary: true,
      message: { role: 'user', content: 'a summary' },
    };
    const next = {
      type: 'user',
      uuid: 'u9',
      parentUuid: 'b2',
      timestamp: AT(11),
      message: { role: 'user', content: 'in the fork' },
    };
    writeJsonLines(join(folder, `${second}.jsonl`), [...copied, boundary, summary, next]);
    const store = await freshStore();
    const { sessions } = await importFrom(store, folder);
    expect(sessions.map(({ id }) => id)).toEqual([first]);
    const entries = await branch(store, first);
    expect(entries.filter(({ type }) => type === 'compaction')).toMatchObject([
      { summary: 'a summary', tokensBefore: 99 },
    ]);
    const request = JSON.stringify(rebuildHistory(entries, { format: 'anthropic' }));
    for (const word of ['a summary', WORDS[4], 'in the fork']) expect(request).toContain(word);
    expect(request).not.toContain(WORDS[0]);
    expect((await importFrom(store, join(folder, `${second}.jsonl`))).sessions[0]).toMatchObject({
      action: 'unchanged',
      id: first,
    });
  });
});

describe('Codex', () => {
  test('packed files are read; events repeat nothing; a fork gets the beginning of its session', async () => {
    const root = freshFolder();
    const folder = join(codexHome(root), 'sessions', '2026', '01', '02');
    const fork = '01a1de99-3c36-7b93-b2fb-2d008ef25112';
    const meta = {
      id: fork,
      forked_from_id: '01a1de21-3c36-7b93-b2fb-2d008ef25112',
      forked_from_ordinal_exclusive: 4,
    };
    const question = {
      type: 'message',
      role: 'user',
      content: [{ type: 'input_text', text: 'asked in the fork' }],
    };
    const lines = [
      { timestamp: AT(9), type: 'session_meta', payload: { ...meta, timestamp: AT(9) } },
      { timestamp: AT(9), type: 'response_item', payload: question },
    ];
    const packed = zstdCompressSync(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    writeFileSync(join(folder, `rollout-2026-01-02T03-05-00-${fork}.jsonl.zst`), packed);
    const store = await freshStore();
    await importFrom(store, join(root, '.codex'));
    expect(textsOf(await branch(store, fork))).toEqual([WORDS[0], 'asked in the fork']);
    expect((await store.get(fork)).parentId).toBe(meta.forked_from_id);
    const whole = await store.get(meta.forked_from_id);
    expect(whole.messageCount).toBe(4);
    expect(whole.settings['importedFrom']).toMatchObject({
      settingsNotApplied: ['systemPrompt', 'modelOverride'],
    });
  });

  test('turns that were rolled back are a branch', async () => {
    const lines = codexLines();
    const back = {
      timestamp: AT(7),
      type: 'event_msg',
      payload: { type: 'thread_rolled_back', num_turns: 1 },
    };
    const again = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'asked again' }] };
    const path = join(
      freshFolder(),
      'rollout-2026-01-02T03-04-00-01a1de21-3c36-7b93-b2fb-2d008ef25112.jsonl',
    );
    writeJsonLines(path, [...lines, back, { timestamp: AT(8), type: 'response_item', payload: again }]);
    const store = await freshStore();
    const { sessions } = await importFrom(store, path);
    expect(textsOf(await branch(store, sessions[0]?.id ?? ''))).toEqual([
      ...WORDS.slice(0, 4),
      'asked again',
    ]);
    expect(readFileSync(path, 'utf8')).toContain(WORDS[4]);
    expect(textsOf(await entriesOf(store, sessions[0]?.id ?? ''))).toContain(WORDS[4]);
  });
});
