import { describe, expect, test } from 'vitest';
import {
  estimateEntryTokens,
  estimateImageTokens,
  estimateMessagesTokens,
  estimateTextTokens,
  estimateTokens,
  estimateToolTokens,
} from '../../src/exports/context.ts';
import { project } from '../../src/exports/transcript.ts';
import type { Entry } from '../../src/index.ts';
import { EntryList } from '../support/engine/entries.ts';
import { jpegBase64, pngBase64 } from '../support/engine/images.ts';

const TEXT = 'The quick brown fox jumps over the lazy dog and runs away from the house.';
const CALL = { id: 'c1', name: 'read_file', arguments: { path: 'src/main.ts', limit: 200 } };

describe('tokens of messages', () => {
  test('a message that was changed since it was counted is counted as it is now', () => {
    const message = Object.freeze({ role: 'user', content: [{ type: 'text', text: 'short' }] });
    const before = estimateTokens(message);
    message.content[0] = { type: 'text', text: TEXT };
    expect(estimateTokens(message)).toBeGreaterThan(before);
    Object.freeze(message.content);
    const longer = estimateTokens(message);
    Object.assign(message.content[0] ?? {}, { text: `${TEXT} ${TEXT}` });
    expect(estimateTokens(message)).toBeGreaterThan(longer);
  });

  test('an image counts by its pixels, at most what a provider keeps of it, and the most if its size is unknown', () => {
    expect(estimateImageTokens(pngBase64(300, 250), 'image/png')).toBe(100);
    expect(estimateImageTokens(pngBase64(8000, 8000), 'image/png')).toBe(1600);
    // Shrunk to 1568 x 157 before it is counted.
    expect(estimateImageTokens(pngBase64(8000, 800), 'image/png')).toBeLessThan(340);
    expect(estimateImageTokens('not an image', 'image/png')).toBe(1600);
    expect(estimateImageTokens(jpegBase64(100, 100, 60_000), 'image/jpeg')).toBe(1600);
  });

  test('megabytes of image data do not count as text, whatever the message is made for', () => {
    const data = pngBase64(300, 250, 3_000_000);
    const forms = [
      { type: 'image', data, mimeType: 'image/png' },
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data } },
      { type: 'image_url', image_url: { url: `data:image/png;base64,${data}` } },
    ];
    for (const block of forms) {
      expect(estimateTokens({ role: 'user', content: [block] })).toBe(104);
      const result = { type: 'tool_result', tool_use_id: 'c1', content: [block] };
      expect(estimateTokens({ role: 'user', content: [result] })).toBe(112);
    }
  });

  test('the same turn costs about the same stored, projected and on the wire', () => {
    const list = new EntryList();
    list.user(TEXT);
    list.assistant([TEXT, { type: 'toolCall', ...CALL }]);
    const content = [{ type: 'text', text: TEXT }];
    list.message({ role: 'toolResult', toolCallId: 'c1', toolName: 'read_file', content, isError: false });
    const stored = estimateMessagesTokens(list.entries);
    const projected = estimateMessagesTokens(
      project(list.entries, { target: { family: 'anthropic' } }).messages,
    );
    const anthropic = estimateMessagesTokens([
      { role: 'user', content: TEXT },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: TEXT },
          { type: 'tool_use', id: 'c1', name: CALL.name, input: CALL.arguments },
        ],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: TEXT }] },
    ]);
    const openai = estimateMessagesTokens([
      { role: 'user', content: TEXT },
      {
        role: 'assistant',
        content: TEXT,
        tool_calls: [
          {
            id: 'c1',
            type: 'function',
            function: { name: CALL.name, arguments: JSON.stringify(CALL.arguments) },
          },
        ],
      },
      { role: 'tool', tool_call_id: 'c1', content: TEXT },
    ]);
    const texts = 3 * estimateTextTokens(TEXT);
    for (const tokens of [stored, projected, anthropic, openai]) {
      expect(tokens).toBeGreaterThan(texts + 20);
      expect(tokens).toBeLessThan(texts + 70);
    }
    expect(Math.abs(stored - projected)).toBeLessThan(12);
  });

  test('an entry counts as what it adds to the context', () => {
    const entry = (fields: object): Entry => ({
      type: 'x',
      id: 'a',
      parentId: null,
      timestamp: '',
      ...fields,
    });
    const text = estimateTextTokens(TEXT);
    expect(estimateEntryTokens(entry({ type: 'custom_message', content: TEXT }))).toBe(text + 4);
    expect(estimateEntryTokens(entry({ type: 'compaction', summary: TEXT }))).toBe(text + 4);
    expect(estimateEntryTokens(entry({ type: 'custom', customType: 'reprise.turn', data: { TEXT } }))).toBe(
      0,
    );
    expect(estimateEntryTokens(entry({ type: 'model_change', modelId: TEXT }))).toBe(0);
    const system = { role: 'system', content: TEXT };
    expect(estimateEntryTokens(entry({ type: 'message', message: system }))).toBe(0);
    const shell = { role: 'bashExecution', command: 'ls', output: TEXT };
    expect(estimateEntryTokens(entry({ type: 'message', message: shell }))).toBeGreaterThan(text);
    const unseen = { ...shell, excludeFromContext: true };
    expect(estimateEntryTokens(entry({ type: 'message', message: unseen }))).toBe(0);
  });

  test('an edit counts instead of the entry, and a hidden entry not at all', () => {
    const list = new EntryList();
    list.user(TEXT.repeat(10));
    const [entry] = list.entries;
    if (entry === undefined) throw new Error('no entry');
    const before = estimateEntryTokens(entry);
    expect(estimateEntryTokens(entry, 'short')).toBeLessThan(10);
    expect(estimateEntryTokens(entry, null)).toBe(0);
    expect(estimateEntryTokens(entry)).toBe(before);
  });

  test('thinking counts by its text, and redacted thinking by what is sealed in it', () => {
    const signature = 'x'.repeat(5000);
    const said = { type: 'thinking', thinking: TEXT, signature, redacted: false };
    expect(estimateTokens({ role: 'assistant', content: [said] })).toBe(estimateTextTokens(TEXT) + 4);
    const sealed = { type: 'thinking', thinking: '', signature, redacted: true };
    expect(estimateTokens({ role: 'assistant', content: [sealed] })).toBe(1004);
  });

  test('content of any shape, depth or circle has a count', () => {
    const circle: Record<string, unknown> = {};
    circle['self'] = circle;
    let deep: unknown = TEXT;
    for (let i = 0; i < 50_000; i++) deep = { type: 'tool_result', content: [deep] };
    for (const content of [
      null,
      7,
      'x',
      [null, 7, ['x']],
      [circle],
      [deep],
      { type: 'text' },
      [{ type: 'text' }],
    ]) {
      expect(Number.isSafeInteger(estimateTokens({ role: 'user', content }))).toBe(true);
    }
    expect(estimateTokens({})).toBe(0);
    const call = { type: 'call', id: 'c', name: 'x', input: circle };
    expect(estimateTokens({ role: 'assistant', content: [call] })).toBeLessThan(50);
  });

  test('tools count with their schemas and what a provider says about tools at all', () => {
    expect(estimateToolTokens([])).toBe(0);
    const tool = {
      name: 'read_file',
      description: 'Reads a file of the workspace.',
      inputSchema: { type: 'object' },
    };
    const one = estimateToolTokens([tool]);
    expect(one).toBeGreaterThan(300);
    const two = estimateToolTokens([tool, tool]);
    expect(two - one).toBeGreaterThan(15);
    expect(two - one).toBeLessThan(40);
  });
});
