import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { Reprise } from '../src/engine/reprise.ts';
import { Answer } from '../src/models/answer.ts';
import type { Model } from '../src/models/model.ts';
import { usageOf } from '../src/models/usage.ts';
import { serve } from '../src/server/serve.ts';
import { openMemoryStore } from '../src/store/memory/open.ts';
import { makeRow, median, type Task } from './measure.ts';

const TOKEN = 'a-token-for-measuring-that-is-long-enough';
const DELTAS = 2000;
const ROUNDS = 5;
/** Deltas that come in one read of a provider's stream. */
const BURST = 20;
const QUIET = { info: () => undefined, warn: () => undefined, error: () => undefined };

/** Events to many who listen, each of which reads as fast as it can. */
export function streamTasks(): Task[] {
  return [1, 100].map((listeners) => {
    const work = `tell ${DELTAS} deltas to ${listeners} listener${listeners === 1 ? '' : 's'} over HTTP`;
    const run: Task['run'] = async () => {
      const limit: number[] = [];
      const ours: number[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        limit.push(await rawRate(listeners));
        ours.push(await ourRate(listeners));
      }
      return makeRow({
        work,
        limit: 'node:http, one write per event',
        limitValue: median(limit),
        oursValue: median(ours),
        unit: 'events/s',
        better: 'higher',
        // One listener pays for the turn alone; many share it and each event's encoding.
        goal: listeners === 1 ? 0.2 : 1,
        note: 'the turn that tells them is included',
      });
    };
    return { work, run };
  });
}

/** Opens the listeners, then lets the deltas come, and measures until all have the last one. */
async function measured(port: number, listeners: number, path: string, begin: () => void): Promise<number> {
  const sockets = await Promise.all(Array.from({ length: listeners }, () => listen(port, path)));
  const start = performance.now();
  begin();
  await Promise.all(sockets.map(untilDone));
  for (const socket of sockets) socket.destroy();
  return (DELTAS * listeners * 1000) / (performance.now() - start);
}

async function listen(port: number, path: string): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`);
  await once(socket, 'data');
  return socket;
}

function untilDone(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    let tail = '';
    socket.on('data', (chunk: Buffer) => {
      const text = tail + chunk.toString('latin1');
      if (text.includes(LAST)) resolve();
      tail = text.slice(-16);
    });
  });
}

const LAST = `word ${DELTAS - 1} `;
const delta = (i: number): string => `word ${i} `;
const breathe = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function rawRate(listeners: number): Promise<number> {
  const open: ServerResponse[] = [];
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(':\n\n');
    open.push(response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const tell = async (): Promise<void> => {
    for (let i = 0; i < DELTAS; i++) {
      const event = { type: 'text_delta', text: delta(i) };
      for (const response of open) response.write(`id: 1.${i}\ndata: ${JSON.stringify(event)}\n\n`);
      if (i % BURST === 0) await breathe();
    }
  };
  const rate = await measured((server.address() as AddressInfo).port, listeners, '/', () => void tell());
  server.closeAllConnections();
  server.close();
  return rate;
}

async function ourRate(listeners: number): Promise<number> {
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  const store = await openMemoryStore({});
  await using reprise = new Reprise({ store, model: bursts(begun), compaction: { background: false } });
  const served = await serve({ reprise, config: { port: 0, token: TOKEN }, logger: QUIET });
  await reprise.receive({ text: 'go', channel: 'web', sessionId: 's' }, { atOnce: true });
  const path = '/api/agents/main/chat/stream?sessionId=s';
  const rate = await measured(Number(new URL(served.url).port), listeners, path, begin);
  await served.close();
  return rate;
}

function bursts(begun: Promise<void>): Model {
  const model: Model = {
    id: 'bursts',
    provider: 'bench',
    api: 'bench',
    target: { family: 'generic', provider: 'bench', model: 'bursts' },
    async *stream() {
      const answer = new Answer();
      await begun;
      for (let i = 0; i < DELTAS; i++) {
        const event = { type: 'text_delta', block: 0, text: delta(i) } as const;
        answer.take(event);
        yield event;
        if (i % BURST === 0) await breathe();
      }
      yield answer.finish(model, { stopReason: 'stop', usage: usageOf({ input: 1, output: DELTAS }) });
    },
  };
  return model;
}
