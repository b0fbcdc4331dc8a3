import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { NewEntry } from '../../../src/exports/store.ts';
import type { Entry, Store } from '../../../src/index.ts';
import { exportLayout } from '../../../src/interop/export/export-layout.ts';
import { leftOutText } from '../../../src/interop/export/left-out.ts';
import { everySession, freshFolder, freshStore } from '../../support/store/interop-home.ts';

const user = (content: unknown): NewEntry => ({ type: 'message', message: { role: 'user', content } });
const assistant = (...content: readonly object[]): NewEntry => ({
  type: 'message',
  message: { role: 'assistant', content, stopReason: 'stop' },
});
const text = (words: string): object => ({ type: 'text', text: words });
const call = (id: string): object => ({ type: 'toolCall', id, name: 'look', arguments: {} });
const result = (toolCallId: string, ...content: readonly object[]): NewEntry => ({
  type: 'message',
  message: { role: 'toolResult', toolCallId, toolName: 'look', content, isError: false },
});
const PIXEL: object = {
  type: 'image',
  mimeType: 'image/png',
  data: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
};

async function idAt(store: Store, id: string, seq: number): Promise<string> {
  const { entries } = await store.read(id, { from: seq, limit: 1 });
  return (entries[0]?.entry as Entry | undefined)?.id ?? '';
}

/** One session with one of everything that some layout cannot hold, another in the trash, and a channel log. */
async function fill(store: Store): Promise<void> {
  await store.create({ id: 'all', key: 'agent:main:main', settings: { label: 'L', thinkingLevel: 'high' } });
  await store.append('all', [
    user([text('Look.'), PIXEL]),
    assistant({ type: 'thinking', thinking: 'Hm.', thinkingSignature: 'sig' }, text('I look.'), call('c1')),
    result('c1', text('a dot'), PIXEL),
    assistant(text('A dot.')),
  ]);
  const { firstSeq } = await store.append('all', [user('And now?'), assistant(text('left behind'))]);
  const now = await idAt(store, 'all', firstSeq);
  await store.append('all', [{ type: 'custom', customType: 'reprise.leaf', parentId: now }]);
  await store.append('all', [assistant(text('Look again.'), call('c2')), result('c2', text('two dots'))]);
  const older = { type: 'compaction', summary: 'A dot.', firstKeptEntryId: now, tokensBefore: 9 };
  const { lastSeq } = await store.append('all', [older, user('Thank you.'), assistant(text('Welcome.'))]);
  const thanks = await idAt(store, 'all', lastSeq - 1);
  await store.append('all', [
    { type: 'compaction', summary: 'Dots.', firstKeptEntryId: thanks, tokensBefore: 9 },
    { type: 'label', targetId: now, label: 'here' },
    { type: 'model_change', provider: 'p', modelId: 'm' },
    { type: 'custom', customType: 'reprise.pin', data: { entryId: now, text: 'And now?' } },
    {
      type: 'custom',
      customType: 'reprise.turn',
      data: { turnId: 't', status: 'done', calls: [], usage: {} },
    },
    { type: 'custom', customType: 'someone.else', data: {} },
  ]);
  await store.create({ id: 'gone', key: 'agent:main:session:gone' });
  await store.append('gone', [user('forget this')]);
  await store.delete('gone');
  const chat = { agentId: 'main', channelType: 'telegram', channelId: '7' };
  await store.convlog.append([{ ...chat, role: 'user', content: 'hi', sessionId: 'all' }]);
}

const META = {
  ...{ messagesOfOtherBranches: 1, pins: 1, settings: 1, labels: 1, modelChanges: 1 },
  ...{ usageRecords: 1, otherEntries: 1 },
};
const LOG = { channelMessages: 1 };
const TRASH = { sessionsInTrash: 1 };
const TOOLS = { toolCalls: 2, toolResults: 2, images: 2 };

test.each([
  ['zeroclaw', {}, { ...TOOLS, thinkingBlocks: 1, summaries: 1, ...META }, LOG],
  ['zyhive', {}, { thinkingBlocks: 1, summaries: 1, ...META }, {}],
  // The messages before the ones that the newest summary keeps; the calls and images are in them.
  ['claw0', {}, { messagesUnderSummary: 7, summaries: 1, ...META }, LOG],
  ['claw0', { full: true }, { thinkingBlocks: 1, summaries: 2, ...META }, LOG],
  ['claw0-classic', {}, { messagesUnderSummary: 7, summaries: 1, ...META }, LOG],
  ['clawdbot', {}, {}, LOG],
])(
  'an export to %s %o counts everything that is not in its files',
  async (layout, options, inSession, beside) => {
    const store = await freshStore();
    await fill(store);
    const sessions = (await everySession(store)).filter(({ status }) => status === 'open');
    const exported = { layout, folder: join(freshFolder(), 'out'), sessions, ...options };
    const isWhole = Object.keys(inSession).length === 0;
    const all = await exportLayout(store, { ...exported, all: true });
    expect(all.leftOut).toEqual({
      total: { ...inSession, ...beside, ...TRASH },
      sessions: isWhole ? [] : [{ id: 'all', ...inSession }],
    });
    // The trash is no part of an export of one session.
    const one = await exportLayout(store, { ...exported, folder: join(freshFolder(), 'one'), all: false });
    expect(one.leftOut.total).toEqual({ ...inSession, ...beside });
  },
);

test('what is left out is named in words, the most important first', () => {
  expect(leftOutText({ settings: 3, images: 1, toolCalls: 2, messagesOfOtherBranches: 1 })).toBe(
    '2 tool calls, 1 image, 1 message of another branch, 3 settings',
  );
  expect(leftOutText({})).toBe('');
});
