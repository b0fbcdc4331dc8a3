import { describe, expect, test } from 'vitest';
import type { ModelRequest } from '../../src/exports/models.ts';
import { rebuildHistory } from '../../src/exports/transcript.ts';
import { RepriseError } from '../../src/index.ts';
import { createScriptedModel, validateAnthropicMessages } from '../../testing/index.ts';
import { call, EntryList } from '../support/engine/entries.ts';
import { asking, READ_FILE, requestFor, run, textOf } from '../support/engine/models.ts';

describe('a scripted model', () => {
  test('plays its steps in order and remembers what it was asked', async () => {
    const model = createScriptedModel([
      'hello',
      { text: ['in ', 'pieces'], thinking: { text: 'hm', signature: 's' } },
      {
        calls: [
          { name: 'read_file', input: { path: 'a' } },
          { id: 'own', name: 'x', rawArguments: '{' },
        ],
      },
      ({ messages }, index) => `${index}: ${messages.length} messages`,
    ]);
    expect(await textOf(model, asking('1'))).toBe('hello');
    const second = await run(model, asking('2'));
    expect(second.events.map(({ type }) => type)).toEqual([
      'thinking_delta',
      'text_delta',
      'text_delta',
      'finish',
    ]);
    expect(second.finish?.message.content).toEqual([
      { type: 'thinking', thinking: 'hm', thinkingSignature: 's' },
      { type: 'text', text: 'in pieces' },
    ]);
    const third = await run(model, asking('3'));
    expect(third.finish?.stopReason).toBe('toolUse');
    expect(third.finish?.message.content).toMatchObject([
      { id: 'call_2_0', arguments: { path: 'a' } },
      { id: 'own', arguments: {}, partialJson: '{' },
    ]);
    expect(await textOf(model, asking('4', 'x', '5'))).toBe('3: 3 messages');
    expect(model.requests.map(({ messages }) => messages.length)).toEqual([1, 1, 1, 3]);
    model.assertDone();
  });

  test('fails where the script says so, with what came before', async () => {
    const error = new RepriseError('MODEL_RATE_LIMITED', 'slow down');
    const model = createScriptedModel([error, { text: 'partial', error }]);
    expect(await run(model, asking('1'))).toMatchObject({ error, events: [] });
    const { error: second, answer } = await run(model, asking('2'));
    expect([second, answer.text]).toEqual([error, 'partial']);
    model.assertDone();
  });

  test('waits for the test, and stops waiting when it is stopped', async () => {
    const gate = Promise.withResolvers<void>();
    const model = createScriptedModel([
      { wait: gate.promise, text: 'late' },
      { wait: new Promise(() => {}), text: 'never' },
      { wait: 600_000, text: 'never' },
    ]);
    const running = run(model, asking('1'));
    await expect.poll(() => model.requests.length).toBe(1);
    gate.resolve();
    expect((await running).answer.text).toBe('late');
    for (let i = 0; i < 2; i++) {
      const stop = new AbortController();
      const stopped = run(model, asking('2'), { signal: stop.signal });
      setTimeout(() => stop.abort(), 1);
      expect((await stopped).error?.code).toBe('ABORTED');
    }
    model.assertDone();
  });

  test('complains about steps that no request used', async () => {
    const model = createScriptedModel(['one', 'two']);
    await run(model, asking('1'));
    expect(() => model.assertDone()).toThrow(/1 step of the script left/);
    await run(model, asking('2'));
    expect(() => model.assertDone()).not.toThrow();
  });

  test('complains about calls that the script did not expect, even if the caller swallowed the failure', async () => {
    const model = createScriptedModel();
    const { error } = await run(model, asking('1'));
    expect(error?.message).toContain('request 0 was not expected');
    expect(() => model.assertDone()).toThrow(/request 0 was not expected/);
  });

  test('refuses requests a provider would refuse, by the rules it is given', async () => {
    const list = new EntryList();
    list.user('read');
    list.assistant([call('c1', 'read_file')]);
    const validate = ({ messages }: ModelRequest): { message: string }[] =>
      messages.some(({ role }) => role === 'tool')
        ? validateAnthropicMessages(rebuildHistory(list.entries, { format: 'anthropic' }))
        : [{ message: 'no result in sight' }];
    const model = createScriptedModel(['fine'], { validate, family: 'anthropic' });
    const { error } = await run(model, { ...asking('read'), tools: [READ_FILE] });
    expect(error).toMatchObject({
      code: 'MODEL_FAILED',
      message: expect.stringContaining('no result in sight'),
    });
    expect(await textOf(model, requestFor(model, list.entries))).toBe('fine');
    expect(() => model.assertDone()).toThrow(/no result in sight/);
  });

  test('keeps requests as they were, whatever happens to them later', async () => {
    const model = createScriptedModel(['ok']);
    const content = [{ type: 'text' as const, text: 'before' }];
    await run(model, { messages: [{ role: 'user', content }] });
    content.push({ type: 'text', text: 'after' });
    expect(JSON.stringify(model.requests)).not.toContain('after');
  });
});
