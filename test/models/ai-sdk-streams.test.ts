import { MessageChannel } from 'node:worker_threads';
import type { LanguageModelV4 } from '@ai-sdk/provider';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { ModelRequest } from '../../src/exports/models.ts';
import { createModel, type Model, RepriseError } from '../../src/index.ts';
import {
  openAnthropicServer,
  openOpenAiServer,
  type WireAnswer,
  type WireDelivery,
  type WireServer,
  type WireStep,
} from '../../testing/index.ts';
import { anthropicEvents } from '../../testing/wire/anthropic-stream.ts';
import { openAiEvents } from '../../testing/wire/openai-stream.ts';
import { EntryList } from '../support/engine/entries.ts';
import { asking, READ_FILE, requestFor, run } from '../support/engine/models.ts';

const ANSWER: WireAnswer = {
  blocks: [
    { type: 'thinking', thinking: 'Hm… ß', signature: 'sig/ä+=' },
    { type: 'text', text: 'Grüße 😀 to you' },
    { type: 'call', id: 'call_1', name: 'read_file', arguments: { path: 'ä.txt' } },
  ],
};
const REQUEST: ModelRequest = { ...asking('hi'), tools: [READ_FILE] };

const PROVIDERS: [
  name: string,
  open: (script: readonly WireStep[]) => Promise<WireServer>,
  ref: string,
  /** Events of ANSWER before its first content, and altogether. */
  events: { opening: number; all: number },
][] = [
  [
    'Anthropic',
    (script) => openAnthropicServer({ script }),
    'anthropic:claude-a',
    { opening: 3, all: anthropicEvents(ANSWER, '').length },
  ],
  [
    'OpenAI',
    (script) => openOpenAiServer({ script }),
    'openai:gpt-a',
    { opening: 1, all: openAiEvents(ANSWER, { stream_options: { include_usage: true } }).length },
  ],
];

const deliver = (delivery: WireDelivery): WireAnswer => ({ ...ANSWER, delivery });

async function modelOf(ref: string, server: WireServer, options = {}): Promise<Model> {
  return await createModel(ref, { apiKey: 'k', baseURL: server.url, retry: { maxRetries: 0 }, ...options });
}

function respond(chunks: readonly Uint8Array[]): Response {
  const body = new ReadableStream({
    start: (controller) => {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
}

describe.each(PROVIDERS)('a stream of %s', (_name, open, ref, { opening, all }) => {
  test('says the same when each byte arrives by itself', async () => {
    await using server = await open([ANSWER, deliver({ split: 'bytes' })]);
    const model = await modelOf(ref, server);
    const { events } = await run(model, REQUEST);
    expect(events.at(-1)?.type).toBe('finish');
    expect((await run(model, REQUEST)).events).toEqual(events);
  });

  test('says the same wherever the network splits it', { tags: 'long' }, async () => {
    await using server = await open([ANSWER, ANSWER]);
    const { events } = await run(await modelOf(ref, server), REQUEST);
    let bytes = Buffer.alloc(0);
    const recording = await modelOf(ref, server, {
      fetch: async (...sent: Parameters<typeof fetch>) => {
        bytes = Buffer.from(await (await fetch(...sent)).arrayBuffer());
        return respond([bytes]);
      },
    });
    await run(recording, REQUEST);
    expect(bytes.length).toBeGreaterThan(1000);
    let split = 0;
    const splitting = await modelOf(ref, server, {
      fetch: async () => respond([bytes.subarray(0, split), bytes.subarray(split)]),
    });
    for (split = 1; split < bytes.length; split++)
      expect((await run(splitting, REQUEST)).events, `split behind byte ${split}`).toEqual(events);
  });

  test.each(['cut', 'close'] as const)(
    'that ends by a %s between two events fails and keeps the received text',
    async (how) => {
      const events = Array.from({ length: all }, (_, i) => i);
      await using server = await open(events.map((n) => deliver({ end: { after: n, how } })));
      const model = await modelOf(ref, server);
      let longest = '';
      for (const n of events) {
        const { error, answer, finish, events: seen } = await run(model, REQUEST);
        // A finish reason and a polite end are all that the chat format promises.
        if (finish !== undefined && how === 'close' && ref.startsWith('openai') && n >= all - 2) continue;
        expect(finish, `${n} events`).toBeUndefined();
        expect(error?.code, `${n} events`).toBe('MODEL_FAILED');
        // Never a call of an answer that has no end (T43).
        expect(seen.some(({ type }) => type === 'tool_call')).toBe(false);
        expect('Grüße 😀 to you'.startsWith(answer.text)).toBe(true);
        expect(answer.text.length).toBeGreaterThanOrEqual(longest.length);
        longest = answer.text;
      }
      expect(longest).toBe('Grüße 😀 to you');
      expect(server.waiting).toBe(0);
    },
  );

  test('T43 that broke inside the arguments of a call leaves a history without it', async () => {
    await using server = await open([deliver({ end: { after: all - 4, how: 'cut' } }), ANSWER]);
    const model = await modelOf(ref, server);
    const { answer, error } = await run(model, REQUEST);
    const list = new EntryList();
    list.user('hi');
    list.message({ ...answer.message(model, { stopReason: 'error', errorMessage: error?.message }) });
    list.user('go on');
    const request = requestFor(model, list.entries);
    expect(JSON.stringify(request)).not.toContain('read_file');
    expect((await run(model, { ...request, tools: [READ_FILE] })).error).toBeUndefined();
  });

  test('that reports an error inside is not sent again once the answer has begun', async () => {
    await using server = await open([deliver({ end: { after: opening + 2, how: 'error' } }), ANSWER]);
    const model = await modelOf(ref, server, { retry: { baseDelayMs: 1 } });
    const { error, events } = await run(model, REQUEST);
    expect(error?.code).toBe('MODEL_FAILED');
    expect(events.length).toBeGreaterThan(0);
    expect(events.some(({ type }) => type === 'retry')).toBe(false);
    expect(server.waiting).toBe(1);
  });

  test('that falls silent ends with MODEL_TIMEOUT, closes the socket and keeps the received text', async () => {
    await using server = await open([deliver({ end: { after: opening + 3, how: 'stall' } })]);
    const model = await modelOf(ref, server, { idleTimeoutMs: 90_000 });
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    // Time passes, and quickly, once text has arrived.
    let passing: NodeJS.Timeout | undefined;
    onTestFinished(() => {
      clearInterval(passing);
      vi.useRealTimers();
    });
    const { error, answer } = await run(model, REQUEST, {
      on: () => {
        passing ??= setInterval(() => vi.advanceTimersByTime(90_000), 1);
      },
    });
    expect(error).toMatchObject({ code: 'MODEL_TIMEOUT', details: { idleTimeoutMs: 90_000 } });
    expect(answer.content().length).toBeGreaterThan(0);
    await server.requests[0]?.closed;
  });

  test('that never answers at all ends with MODEL_TIMEOUT', async () => {
    await using server = await open([{ connection: 'stall' }]);
    const model = await modelOf(ref, server, { idleTimeoutMs: 300 });
    expect((await run(model, REQUEST)).error?.code).toBe('MODEL_TIMEOUT');
    await server.requests[0]?.closed;
  });

  test('stops at once wherever it is, and gives the socket back', async () => {
    await using server = await open([
      { connection: 'stall' },
      deliver({ end: { after: opening + 2, how: 'stall' } }),
    ]);
    const model = await modelOf(ref, server);
    for (const waitingFor of ['headers', 'the next event'] as const) {
      const stop = new AbortController();
      const reason = new Error(`no longer wanted: ${waitingFor}`);
      const sent = server.requests.length;
      const running = run(model, REQUEST, {
        signal: stop.signal,
        on: () => setTimeout(() => stop.abort(reason), 1),
      });
      if (waitingFor === 'headers') {
        await expect.poll(() => server.requests.length).toBe(sent + 1);
        stop.abort(reason);
      }
      const { error } = await running;
      expect(error).toMatchObject({ code: 'ABORTED', cause: reason });
      await server.requests[sent]?.closed;
    }
  });

  test('gives the socket back to a reader who leaves', async () => {
    await using server = await open([deliver({ end: { after: opening + 2, how: 'stall' } })]);
    const model = await modelOf(ref, server);
    for await (const event of model.stream(REQUEST)) if (event.type !== 'retry') break;
    await server.requests[0]?.closed;
  });
});

describe('a model object of another package', () => {
  const USAGE = { inputTokens: {}, outputTokens: {} };
  const deaf = (doStream: (options: { abortSignal?: AbortSignal }) => Promise<unknown>): LanguageModelV4 =>
    ({ specificationVersion: 'v4', provider: 'deaf', modelId: 'm', supportedUrls: {}, doStream }) as never;

  test('that ignores its signal is left alone when it is stopped, and its late stream is cancelled', async () => {
    const late = Promise.withResolvers<void>();
    const cancelled = Promise.withResolvers<void>();
    const stream = new ReadableStream({ cancel: () => cancelled.resolve() });
    const model = await createModel(
      deaf(async () => {
        await late.promise;
        return { stream };
      }),
    );
    const stop = new AbortController();
    const running = run(model, asking('hi'), { signal: stop.signal });
    stop.abort();
    expect((await running).error?.code).toBe('ABORTED');
    late.resolve();
    await cancelled.promise;
  });

  test('that ignores its signal is stopped between two parts', async () => {
    const stream = new ReadableStream({
      start: (controller) => {
        controller.enqueue({ type: 'text-delta', id: '0', delta: 'one' });
      },
    });
    const model = await createModel(deaf(async () => ({ stream })));
    const stop = new AbortController();
    const { error, answer } = await run(model, asking('hi'), {
      signal: stop.signal,
      on: () => setTimeout(() => stop.abort(), 1),
    });
    expect(error?.code).toBe('ABORTED');
    expect(answer.text).toBe('one');
  });

  test('is not silent while our own reader is slow', async () => {
    const model = await createModel(
      deaf(async ({ abortSignal }) => ({
        stream: new ReadableStream({
          start: (controller) => {
            abortSignal?.addEventListener('abort', () => controller.error(abortSignal.reason));
            for (const delta of ['one', 'two']) controller.enqueue({ type: 'text-delta', id: '0', delta });
            controller.enqueue({
              type: 'finish',
              finishReason: { unified: 'stop', raw: 'stop' },
              usage: USAGE,
            });
          },
        }),
      })),
      { idleTimeoutMs: 100 },
    );
    const seen: string[] = [];
    for await (const { type } of model.stream(asking('hi'))) {
      // Three times the silence that is allowed to the provider.
      if (seen.push(type) === 1) await new Promise((resolve) => setTimeout(resolve, 300));
    }
    expect(seen).toEqual(['text_delta', 'text_delta', 'finish']);
  });

  test('is not silent while our own process stands still, and what came meanwhile is heard', async () => {
    const { port1: here, port2: there } = new MessageChannel();
    const parts = [
      { type: 'text-delta', id: '0', delta: 'one' },
      { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage: USAGE },
    ];
    const model = await createModel(
      deaf(async () => ({
        stream: new ReadableStream(
          {
            start: (controller) => void here.on('message', (part) => controller.enqueue(part)),
            // A reader waits: the part is on its way, and then nothing in this process runs for longer than allowed.
            pull: () =>
              void setImmediate(() => {
                there.postMessage(parts.shift());
                Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 150);
              }),
          },
          { highWaterMark: 0 },
        ),
      })),
      { idleTimeoutMs: 100, retry: { maxRetries: 0 } },
    );
    const { error, answer } = await run(model, asking('hi'));
    here.close();
    expect([error, answer.text]).toEqual([undefined, 'one']);
  });

  test('that throws something odd is a coded failure', async () => {
    for (const thrown of ['text', undefined, new RangeError('x'), { message: 'Overloaded' }]) {
      const model = await createModel(
        deaf(async () => {
          throw thrown;
        }),
        { retry: { maxRetries: 0 } },
      );
      const { error } = await run(model, asking('hi'));
      expect(error).toBeInstanceOf(RepriseError);
      expect(error?.code).toBe('MODEL_FAILED');
    }
  });
});
