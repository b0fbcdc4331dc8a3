import { describe, expect, test } from 'vitest';
import type { ModelRequest } from '../../../src/exports/models.ts';
import { modelError } from '../../../src/models/model-error.ts';
import { createScriptedModel, type ScriptedStep } from '../../../src/models/scripted/scripted-model.ts';
import { complaintsOf, openEngine, say } from '../../support/engine/engine.ts';
import { pngBase64 } from '../../support/engine/images.ts';

/** How a provider refuses what it does not like, in words that no rule knows. */
function refusal(status = 400, message = 'the request is not acceptable (E-1234)'): Error {
  return modelError({ status, codes: ['invalid_request_error'], message }, { provider: 'p', id: 'm' }, 0);
}

const isStrict = ({ messages, thinkingLevel }: ModelRequest): boolean => {
  const text = JSON.stringify(messages);
  const ids = [...text.matchAll(/"callId":"([^"]*)"/g)].map(([, id = '']) => id);
  return (
    !/"type":"(?:thinking|image)"/.test(text) &&
    ids.every((id) => /^[a-zA-Z0-9]{9}$/.test(id)) &&
    thinkingLevel === undefined
  );
};

const onlyStrict =
  (step: ScriptedStep): ScriptedStep =>
  (request) =>
    isStrict(request) ? step : refusal();

const LOOK = {
  name: 'look',
  description: 'Looks.',
  inputSchema: { type: 'object' },
  run: async () => 'a tree',
};

/** A history with everything a strict request leaves out: thinking, an image and a long call id. */
async function openTalked(steps: readonly ScriptedStep[]) {
  const call = { id: 'call_with-a.very:long/id', name: 'look', input: {} };
  const first: ScriptedStep = { thinking: { text: 'hm', signature: 'sig' }, calls: [call] };
  const model = createScriptedModel([first, 'a tree it is', ...steps], {
    family: 'anthropic',
    api: 'anthropic-messages',
    contextWindow: 200_000,
    validate: complaintsOf,
  });
  const at = await openEngine(model, { tools: [LOOK] });
  await at.session.send({ text: 'what is this?', images: [{ data: pngBase64(8, 8), mimeType: 'image/png' }] })
    .result;
  return at;
}

describe('a request that a provider refuses without a known reason', () => {
  test('is sent once more, stricter, and the turn continues with what the provider accepts', async () => {
    const again: ScriptedStep = { calls: [{ name: 'look', input: {} }] };
    await using at = await openTalked([refusal(), onlyStrict(again), onlyStrict('fine now')]);
    const events = await say(at.session, 'and now?');
    expect(events.at(-1)).toMatchObject({ type: 'done', text: 'fine now' });
    const retries = events.filter(({ type }) => type === 'retry');
    expect(retries).toEqual([expect.objectContaining({ reason: expect.stringContaining('E-1234') })]);
    expect(at.model.requests.slice(2).map(isStrict)).toEqual([false, true, true]);
    // The model still knows that there was an image.
    expect(JSON.stringify(at.model.requests.at(-1)?.messages)).toContain('image left out');
    const { calls } = await at.session.explain();
    expect(calls.map(({ strict, verified }) => [strict, verified])).toEqual([
      [true, true],
      [true, true],
    ]);
  });

  test('is reported in the words of the provider with a next step when the stricter one is refused too', async () => {
    await using at = await openTalked([refusal(), refusal(422, 'still not (E-5678)')]);
    const events = await say(at.session, 'and now?');
    expect(events.at(-1)).toMatchObject({
      type: 'error',
      code: 'MODEL_FAILED',
      message: expect.stringContaining('E-1234'),
      details: { next: expect.stringContaining('/undo') },
    });
    expect(at.model.requests).toHaveLength(4);
  });

  test('is not repeated when nothing in it could be stricter', async () => {
    const model = createScriptedModel([refusal()], { contextWindow: 200_000 });
    await using at = await openEngine(model);
    expect((await say(at.session, 'hello')).at(-1)).toMatchObject({
      code: 'MODEL_FAILED',
      details: { next: expect.stringContaining('/model') },
    });
    expect(model.requests).toHaveLength(1);
  });

  test.each([
    ['a wrong key', refusal(401), 'MODEL_AUTH'],
    ['a server that failed', refusal(500), 'MODEL_FAILED'],
    ['an answer that had begun', { text: 'half', error: refusal() }, 'MODEL_FAILED'],
  ] as const)('is only meant so: %s is not', async (_what, step, code) => {
    await using at = await openTalked([step]);
    expect((await say(at.session, 'and now?')).at(-1)).toMatchObject({ code });
    expect(at.model.requests).toHaveLength(3);
  });
});
