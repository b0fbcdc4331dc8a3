import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import { Hono } from 'hono';
import { type SSEStreamingApi, streamSSE } from 'hono/streaming';
import { Reprise } from '../src/engine/reprise.ts';
import { Answer } from '../src/models/answer.ts';
import type { Model } from '../src/models/model.ts';
import { usageOf } from '../src/models/usage.ts';
import { serve } from '../src/server/serve.ts';
import { openMemoryStore } from '../src/store/memory/open.ts';
import { collect } from './collect.ts';
import { openListeners } from './listeners.ts';
import { makeRow, median, type Task } from './measure.ts';

const TOKEN = 'a-token-for-measuring-that-is-long-enough';
const DELTAS = 2000;
const ROUNDS = 5;
const MANY = 100;
/** Deltas that come in one read of a provider's stream. */
const BURST = 20;
const QUIET = { info: () => undefined, warn: () => undefined, error: () => undefined };

type Arm = (listeners: number) => Promise<number>;

/** Events to many listeners: what each costs the thread that emits them, the turn included. */
export function streamTasks(): Task[] {
  return [
    compareArms({
      work: `emit ${DELTAS} deltas to ${MANY} listeners over HTTP, beside Hono's helper`,
      listeners: MANY,
      limit: ["Hono's streamSSE", helperCost],
      goal: 0.5,
    }),
    compareArms({
      work: `emit ${DELTAS} deltas to ${MANY} listeners over HTTP, beside one write each`,
      listeners: MANY,
      limit: ['node:http, one write per event', rawCost],
      // Four times as quick, by one write for all events of one turn of the loop.
      goal: 0.25,
    }),
    compareArms({
      work: `emit ${DELTAS} deltas to 1 listener over HTTP, beside Hono's helper`,
      listeners: 1,
      limit: ["Hono's streamSSE", helperCost],
      // One listener pays for the turn alone, which is most of it.
      goal: 1.5,
    }),
    memoryTask(),
  ];
}

interface Compared {
  readonly work: string;
  readonly listeners: number;
  readonly limit: readonly [string, Arm];
  readonly goal: number;
}

function compareArms({ work, listeners, limit: [name, limitCost], goal }: Compared): Task {
  const run: Task['run'] = async () => {
    const limit: number[] = [];
    const ours: number[] = [];
    await limitCost(1);
    await ourCost(1);
    for (let round = 0; round < ROUNDS; round++) {
      limit.push(await limitCost(listeners));
      ours.push(await ourCost(listeners));
    }
    return makeRow({
      work,
      limit: name,
      limitValue: median(limit),
      oursValue: median(ours),
      unit: 'us per event',
      goal,
      note: 'processor time of the main thread; the turn that emits them is included',
    });
  };
  return { work, run };
}

/** Opens the listeners, then lets the deltas come; microseconds of this thread for each event and listener. */
async function measured(port: number, path: string, listeners: number, begin: () => void): Promise<number> {
  const open = await openListeners({ port, path, token: TOKEN, count: listeners, last: LAST });
  const before = process.threadCpuUsage();
  begin();
  await open.done;
  const { user, system } = process.threadCpuUsage(before);
  await open.close();
  return (user + system) / (DELTAS * listeners);
}

const LAST = `word ${DELTAS - 1} `;
const delta = (i: number): string => `word ${i} `;
const breathe = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function tellAll(tell: (id: string, data: string) => void, burst: number): Promise<void> {
  for (let i = 0; i < DELTAS; i++) {
    tell(`1.${i}`, JSON.stringify({ type: 'text_delta', text: delta(i) }));
    if (i % burst === 0) await breathe();
  }
}

async function rawCost(listeners: number): Promise<number> {
  const open: ServerResponse[] = [];
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(':\n\n');
    open.push(response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const cost = await measured(port, '/', listeners, () => {
    // Node gathers what is written in one turn of the loop, so each event has a separate turn.
    void tellAll((id, data) => {
      for (const response of open) response.write(`id: ${id}\ndata: ${data}\n\n`);
    }, 1);
  });
  server.closeAllConnections();
  server.close();
  return cost;
}

/** As its documentation shows it: a promise for each event and listener. */
async function helperCost(listeners: number): Promise<number> {
  const open: SSEStreamingApi[] = [];
  const app = new Hono().get('/', (c) =>
    streamSSE(c, async (stream) => {
      await stream.write(':\n\n');
      open.push(stream);
      await new Promise<void>((resolve) => stream.onAbort(resolve));
    }),
  );
  const server = createAdaptorServer({ fetch: app.fetch, overrideGlobalObjects: false });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const cost = await measured(port, '/', listeners, () => {
    void tellAll((id, data) => {
      for (const stream of open) void stream.writeSSE({ id, data });
    }, BURST);
  });
  if ('closeAllConnections' in server) server.closeAllConnections();
  server.close();
  return cost;
}

async function ourCost(listeners: number): Promise<number> {
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  await using served = await openServed(bursts(begun, DELTAS));
  return await measured(served.port, served.path, listeners, begin);
}

interface ServedTurn extends AsyncDisposable {
  readonly port: number;
  readonly path: string;
}

/** A server with one turn under way. */
async function openServed(model: Model): Promise<ServedTurn> {
  const store = await openMemoryStore({});
  const reprise = new Reprise({ store, model, compaction: { background: false } });
  const served = await serve({ reprise, config: { port: 0, token: TOKEN }, logger: QUIET });
  await reprise.receive({ text: 'go', channel: 'web', sessionId: 's' }, { atOnce: true });
  return {
    port: Number(new URL(served.url).port),
    path: '/api/agents/main/chat/stream?sessionId=s',
    [Symbol.asyncDispose]: async () => {
      await served.close();
      await reprise[Symbol.asyncDispose]();
    },
  };
}

/** Megabytes of the heap and its buffers after events that 100 clients do not read. */
function memoryTask(): Task {
  const work = `memory: ${MANY} clients that do not read, beside none`;
  const run: Task['run'] = async () => {
    const none = await heldWith(0);
    const deaf = await heldWith(MANY);
    return makeRow({
      work,
      limit: 'no listener',
      limitValue: none,
      oursValue: deaf,
      unit: 'MB',
      goal: 2,
      note: `${DEAF_DELTAS.toLocaleString('en')} deltas of 1 KB are emitted meanwhile`,
    });
  };
  return { work, run };
}

/** More than a client may be behind, less than an answer may be long. */
const DEAF_DELTAS = 1800;

async function heldWith(count: number): Promise<number> {
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  const { promise: told, resolve: end } = Promise.withResolvers<void>();
  const { promise: left, resolve: leave } = Promise.withResolvers<void>();
  const model = bursts(begun, DEAF_DELTAS, {
    text: 'x'.repeat(1024),
    atEnd: async () => {
      end();
      await left;
    },
  });
  await using served = await openServed(model);
  const { port, path } = served;
  const deaf =
    count === 0
      ? undefined
      : await openListeners({ port, path, token: TOKEN, count, last: LAST, deaf: true });
  collect();
  begin();
  await told;
  for (let i = 0; i < 3; i++) await breathe();
  collect();
  const { heapUsed, external, arrayBuffers } = process.memoryUsage();
  leave();
  await deaf?.close();
  return (heapUsed + external + arrayBuffers) / (1024 * 1024);
}

interface BurstOptions {
  readonly text?: string;
  readonly atEnd?: () => Promise<void>;
}

function bursts(begun: Promise<void>, count: number, { text = '', atEnd }: BurstOptions = {}): Model {
  const model: Model = {
    id: 'bursts',
    provider: 'bench',
    api: 'bench',
    target: { family: 'generic', provider: 'bench', model: 'bursts' },
    async *stream() {
      const answer = new Answer();
      await begun;
      for (let i = 0; i < count; i++) {
        const event = { type: 'text_delta', block: 0, text: `${delta(i)}${text}` } as const;
        answer.take(event);
        yield event;
        if (i % BURST === 0) await breathe();
      }
      await atEnd?.();
      yield answer.finish(model, { stopReason: 'stop', usage: usageOf({ input: 1, output: count }) });
    },
  };
  return model;
}
