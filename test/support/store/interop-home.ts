import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { openStore } from '../../../src/config/open.ts';
import type { NewEntry } from '../../../src/exports/store.ts';
import type { Entry, SessionRecord, Store } from '../../../src/index.ts';
import { exportLayout } from '../../../src/interop/export/export-layout.ts';
import { openSource } from '../../../src/interop/import/detect.ts';
import { type ImportOptions, type ImportReport, runImport } from '../../../src/interop/import/run-import.ts';
import { loadDocument } from '../../../src/interop/session-document.ts';

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

export function freshFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'reprise-interop-'));
  folders.push(folder);
  return folder;
}

export function freshStore(): Promise<Store> {
  return openStore({ kind: 'memory' });
}

export async function everySession(store: Store): Promise<readonly SessionRecord[]> {
  return (await store.list({ limit: 1000, status: 'any' })).sessions;
}

export async function entriesOf(store: Store, id: string): Promise<readonly Entry[]> {
  return (await loadDocument(store, await store.get(id))).entries;
}

export async function writeLayout(
  store: Store,
  layout: string,
  options: { readonly full?: boolean; readonly redact?: boolean } = {},
): Promise<string> {
  const folder = join(freshFolder(), 'out');
  const sessions = await everySession(store);
  await exportLayout(store, { layout, folder, sessions, all: true, ...options });
  return folder;
}

export async function importFrom(
  store: Store,
  path: string,
  options: ImportOptions = {},
): Promise<ImportReport> {
  const source = await openSource(path);
  try {
    return await runImport(store, source, options);
  } finally {
    await source[Symbol.asyncDispose]?.();
  }
}

const user = (content: unknown): NewEntry => ({ type: 'message', message: { role: 'user', content } });
const assistant = (content: readonly object[], fields: object = {}): NewEntry => ({
  type: 'message',
  message: { role: 'assistant', content, stopReason: 'stop', ...fields },
});
const text = (words: string): object => ({ type: 'text', text: words });
const call = (id: string, path: string): object => ({
  type: 'toolCall',
  id,
  name: 'read_file',
  arguments: { path },
});
const result = (toolCallId: string, content: readonly object[], isError = false): NewEntry => ({
  type: 'message',
  message: { role: 'toolResult', toolCallId, toolName: 'read_file', content, isError },
});

/** A dot, 1 by 1. */
const PIXEL: object = {
  type: 'image',
  mimeType: 'image/png',
  data: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
};

/** Six sessions with everything a layout may or may not hold. */
export async function fillStore(store: Store): Promise<void> {
  const main = 'agent:main:main';
  await store.create({ id: 'old-main', key: main });
  await store.append('old-main', [user('an older talk'), assistant([text('that was reset')])]);

  await store.create({ id: 'main-1', key: main, parentId: 'old-main', settings: { thinkingLevel: 'high' } });
  await store.append('main-1', [
    user('Read both files.'),
    assistant([text('I will.'), call('c1', 'a.txt'), call('c2', 'b.txt')], { stopReason: 'toolUse' }),
    result('c1', [text('alpha')]),
    result('c2', [text('no such file')], true),
    assistant([text('a has alpha, b is missing.')]),
    user([text('And this?'), PIXEL]),
    assistant([{ type: 'thinking', thinking: 'A dot.', thinkingSignature: 'sig' }, text('A dot.')]),
  ]);
  const { lastSeq } = await store.append('main-1', [user('Thank you.'), assistant([text('Welcome.')])]);
  const page = await store.read('main-1', { from: lastSeq - 1, limit: 1 });
  const [kept] = page.entries;
  await store.append('main-1', [
    {
      type: 'compaction',
      summary: 'Two files were read: alpha.\nA dot was seen.',
      firstKeptEntryId: (kept?.entry as Entry | undefined)?.id ?? '',
      tokensBefore: 900,
      tokensAfter: 90,
    },
    user('What was in a?'),
    assistant([text('Let me'), call('c3', 'a.txt')], { stopReason: 'toolUse' }),
    result('c3', [text('alpha again'), PIXEL]),
    assistant([text('alpha, still')], { stopReason: 'aborted' }),
    { type: 'session_info', name: 'Two files' },
  ]);
  await store.patch('main-1', { label: 'files', queueMode: 'collect', 'x-mine': { a: [1] } });
  await store.activate(main, 'main-1');

  const topic = 'agent:main:telegram:group:-100:topic:7';
  await store.create({ id: 'topic-7', key: topic });
  await store.append('topic-7', [user('first'), user('second'), assistant([text('both')])]);
  await store.activate(topic, 'topic-7');

  const peer = 'agent:helper:web:direct:..%2F..%2Fetc <b>';
  await store.create({ id: '0123456789ab', key: peer });
  await store.append('0123456789ab', [assistant([text('I begin')]), user('🦊 ü')]);
  await store.activate(peer, '0123456789ab');

  await store.create({ id: 'branches', key: 'agent:main:session:branches' });
  const { firstSeq } = await store.append('branches', [user('root'), assistant([text('one')])]);
  const [first] = (await store.read('branches', { from: firstSeq, limit: 1 })).entries;
  await store.append('branches', [
    { type: 'custom', customType: 'reprise.leaf', parentId: (first?.entry as Entry | undefined)?.id ?? '' },
    assistant([text('other')]),
  ]);
  await store.activate('agent:main:session:branches', 'branches');

  await store.create({ id: 'empty', key: 'agent:main:session:empty' });
  await store.convlog.append([
    {
      agentId: 'main',
      channelType: 'telegram',
      channelId: '-100',
      role: 'user',
      content: 'first',
      sender: { id: 'u1', name: 'Ann' },
      ts: '2025-01-01T00:00:00.000Z',
    },
    {
      agentId: 'main',
      channelType: 'telegram',
      channelId: '-100',
      role: 'assistant',
      content: 'both',
      ts: '2025-01-01T00:00:01.000Z',
    },
  ]);
}
