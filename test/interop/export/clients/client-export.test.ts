import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import type { Entry } from '../../../../src/index.ts';
import { checkClientFile } from '../../../../src/interop/export/clients/check-client-file.ts';
import {
  CLIENT_EXPORTS,
  CLIENT_NAMES,
  type ClientSession,
} from '../../../../src/interop/export/clients/client-export.ts';
import { type ClientName, callFor } from '../../../../src/interop/export/clients/tool-names.ts';
import type { SessionDocument } from '../../../../src/interop/session-document.ts';
import { call, EntryList } from '../../../support/engine/entries.ts';
import { pngBase64 } from '../../../support/engine/images.ts';

const folder = mkdtempSync(join(tmpdir(), 'reprise-clients-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const SESSION: ClientSession = {
  id: '01234567-89ab-4def-8123-456789abcdef',
  cwd: '/projects/my_app',
  now: new Date('2026-11-19T10:20:30.456Z'),
  full: false,
};

function conversation({ isCompacted = false }: { readonly isCompacted?: boolean } = {}): Entry[] {
  const list = new EntryList();
  list.user('first words');
  list.assistant([
    'looking',
    call('call_1', 'Bash', { command: 'ls' }),
    call('call_2', 'read', { path: 'a' }),
  ]);
  list.result('call_2', 'text of a');
  list.result('call_1', 'a b');
  list.assistant(['done']);
  const kept = list.user([
    { type: 'text', text: 'and this?' },
    { type: 'image', data: pngBase64(3, 4), mimeType: 'image/png' },
  ]);
  if (isCompacted)
    list.add('compaction', { summary: 'They looked at a.', firstKeptEntryId: kept, tokensBefore: 90 });
  list.assistant([call('call_3', 'my_tool', { deep: [1] })]);
  list.result('call_3', 'failed', { isError: true });
  list.assistant(['a picture']);
  return [...list.entries];
}

function documentWith(entries: readonly Entry[]): SessionDocument {
  return {
    id: 's1',
    agentId: 'main',
    key: 'agent:main:session:s1',
    sourceKey: undefined,
    title: 'First words',
    settings: {},
    active: true,
    messageCount: 6,
    tokenEstimate: 10,
    createdAt: entries[0]?.timestamp ?? '',
    lastAt: entries.at(-1)?.timestamp ?? '',
    header: { type: 'session', version: 3, id: 's1', timestamp: '2026-11-01T10:00:00.000Z' },
    entries,
    corruptAt: undefined,
    lostParts: 0,
  };
}

function write(client: ClientName, document: SessionDocument, session = SESSION): string {
  const file = join(
    folder,
    CLIENT_EXPORTS[client].place(session, { home: '/home/ada', env: {} }).split('/').at(-1) ?? '',
  );
  writeFileSync(file, [...CLIENT_EXPORTS[client].write(document, session)].join(''));
  return file;
}

describe.each(CLIENT_NAMES as ClientName[])('a session for %s', (client) => {
  test('has every message, call and result, also for the importer', async () => {
    const document = documentWith(conversation());
    const file = write(client, document);
    expect(await checkClientFile(document, SESSION, { client, file })).toBe(0);
    const text = readFileSync(file, 'utf8');
    for (const said of [
      'first words',
      'call_1',
      'call_2',
      'text of a',
      'a b',
      'done',
      'and this?',
      'failed',
      'a picture',
    ])
      expect(text).toContain(said);
    expect(text).toContain(callFor(client, 'Bash', { command: 'ls' }).name);
    expect(text).toContain('my_tool');
    expect(text).toContain('"reprise":{"session":"s1"');
  });

  test('starts with the summary, or with everything if asked', async () => {
    const document = documentWith(conversation({ isCompacted: true }));
    const file = write(client, document);
    expect(await checkClientFile(document, SESSION, { client, file })).toBe(0);
    expect(readFileSync(file, 'utf8')).toContain('They looked at a.');
    // pi compacts by itself when it reads the file, so its file has the whole branch.
    if (client !== 'pi') expect(readFileSync(file, 'utf8')).not.toContain('first words');
    const all = { ...SESSION, full: true };
    const whole = write(client, document, all);
    expect(await checkClientFile(document, all, { client, file: whole })).toBe(0);
    expect(readFileSync(whole, 'utf8')).not.toContain('They looked at a.');
    expect(readFileSync(whole, 'utf8')).toContain('first words');
  });

  test('that lost a message is noticed', async () => {
    const document = documentWith(conversation());
    const file = write(client, document);
    const lines = readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => !line.includes('text of a'));
    writeFileSync(file, lines.join('\n'));
    expect(await checkClientFile(document, SESSION, { client, file })).toBeGreaterThan(0);
  });
});

test('the files lie where the agents look for them', () => {
  const places = CLIENT_NAMES.map((name) =>
    CLIENT_EXPORTS[name as ClientName].place(SESSION, { home: '/home/ada', env: {} }),
  );
  expect(places).toEqual([
    '/home/ada/.claude/projects/-projects-my-app/01234567-89ab-4def-8123-456789abcdef.jsonl',
    '/home/ada/.codex/sessions/2026/11/19/rollout-2026-11-19T10-20-30-01234567-89ab-4def-8123-456789abcdef.jsonl',
    '/home/ada/.pi/agent/sessions/--projects-my_app--/2026-11-19T10-20-30-456Z_01234567-89ab-4def-8123-456789abcdef.jsonl',
  ]);
});

test('tools get the names of the agent, unknown ones keep theirs', () => {
  expect(callFor('codex', 'Bash', { command: 'ls' })).toEqual({ name: 'exec_command', input: { cmd: 'ls' } });
  expect(callFor('claude-code', 'exec_command', { cmd: 'ls', timeout: 3 })).toEqual({
    name: 'Bash',
    input: { command: 'ls', timeout: 3 },
  });
  expect(callFor('pi', 'Read', { file_path: 'a' })).toEqual({ name: 'read', input: { path: 'a' } });
  expect(callFor('claude-code', 'read', { filePath: 'a' })).toEqual({
    name: 'Read',
    input: { file_path: 'a' },
  });
  expect(callFor('pi', 'other', { a: 1 })).toEqual({ name: 'other', input: { a: 1 } });
});
