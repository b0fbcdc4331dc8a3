import { describe, expect, test } from 'vitest';
import type { ModelEvent } from '../../src/exports/models.ts';
import { createModel, type Model } from '../../src/index.ts';
import {
  createScriptedModel,
  type ModelUnderTest,
  modelCases,
  openAnthropicServer,
  openOpenAiServer,
  runModelCase,
  type WireReply,
  type WireRequest,
} from '../../testing/index.ts';
import { asking, READ_FILE } from '../support/engine/models.ts';

const ASK = asking('good morning to you');
const ASK_FOR_TOOL = { ...asking('read the file a.txt'), tools: [READ_FILE] };
type Opened = ModelUnderTest & Partial<AsyncDisposable>;

/** Calls the tool it is offered unless it has just answered. */
function answer({ body }: WireRequest): WireReply {
  const sent = JSON.stringify(body['messages']);
  if (body['tools'] === undefined || sent.includes('the result'))
    return { blocks: [{ type: 'text', text: 'something in several pieces' }] };
  return { blocks: [{ type: 'call', id: 'call_1', name: 'read_file', arguments: { path: 'a.txt' } }] };
}

async function served(
  ref: string,
  open: typeof openAnthropicServer | typeof openOpenAiServer,
): Promise<Opened> {
  const server = await open({ script: Array(10).fill(answer) });
  const model = await createModel(ref, { apiKey: 'k', baseURL: server.url });
  return {
    model,
    ask: ASK,
    askForTool: ASK_FOR_TOOL,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

const MODELS: [name: string, open: () => Promise<Opened>][] = [
  ['offline', async () => ({ model: await createModel('offline'), ask: ASK, askForTool: ASK_FOR_TOOL })],
  [
    'scripted',
    async () => {
      const model = createScriptedModel(
        Array(10).fill(({ tools, messages }: typeof ASK_FOR_TOOL) =>
          tools === undefined || messages.at(-1)?.role === 'tool'
            ? { text: ['some', 'thing'] }
            : { calls: [{ name: 'read_file', input: { path: 'a.txt' } }] },
        ),
      );
      return { model, ask: ASK, askForTool: ASK_FOR_TOOL };
    },
  ],
  ['Anthropic', () => served('anthropic:claude-a', openAnthropicServer)],
  ['OpenAI', () => served('openai:gpt-a', openOpenAiServer)],
];

describe.each(MODELS)('the %s model keeps the promises of a model', (_name, open) => {
  for (const modelCase of modelCases) test(modelCase.name, () => runModelCase(modelCase, open));
});

type Change = (event: ModelEvent) => ModelEvent | undefined;

/** Each breaks one promise; the suite must see it. */
const BROKEN: [what: string, seen: RegExp, change: () => Change][] = [
  ['never finishes', /ends with finish/, () => (event) => (event.type === 'finish' ? undefined : event)],
  [
    'loses a delta',
    /with the same content/,
    () => {
      let lost = false;
      return (event) => {
        if (lost || event.type !== 'text_delta') return event;
        lost = true;
        return undefined;
      };
    },
  ],
  [
    'signs with another name',
    /signed by its model/,
    () => (event) =>
      event.type === 'finish' ? { ...event, message: { ...event.message, model: 'other' } } : event,
  ],
  [
    'miscounts',
    /add up to the total/,
    () => (event) =>
      event.type === 'finish' && event.usage
        ? { ...event, usage: { ...event.usage, totalTokens: 1 } }
        : event,
  ],
  ['loses calls', /arrives complete/, () => (event) => (event.type === 'tool_call' ? undefined : event)],
  ['cannot be stopped', /midway/, () => (event) => event],
];

async function* changed(events: AsyncIterable<ModelEvent>, change: Change): AsyncGenerator<ModelEvent> {
  for await (const event of events) {
    const kept = change(event);
    if (kept !== undefined) yield kept;
  }
}

test.each(BROKEN)('the suite goes red on a model that %s', async (what, seen, change) => {
  const open = async (): Promise<Opened> => {
    const good = await createModel('offline');
    const deaf = what === 'cannot be stopped';
    const stream: Model['stream'] = (request, options) =>
      changed(good.stream(request, deaf ? {} : options), change());
    return { model: { ...good, stream }, ask: ASK, askForTool: ASK_FOR_TOOL };
  };
  const red: string[] = [];
  for (const modelCase of modelCases)
    await runModelCase(modelCase, open).catch(() => red.push(modelCase.name));
  expect(red.join('\n')).toMatch(seen);
});
