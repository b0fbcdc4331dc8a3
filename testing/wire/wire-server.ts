import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate as nextTick } from 'node:timers/promises';
import { isRecord, type JsonRecord } from '../providers/json.ts';
import type { WireAnswer, WireFailure, WireReply } from './wire-answer.ts';

/** One request as it arrived. */
export interface WireRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: JsonRecord;
  /** Resolves when the connection of this request has ended, on either side. */
  readonly closed: Promise<void>;
}

export type WireStep = WireReply | ((request: WireRequest) => WireReply | Promise<WireReply>);

export interface WireServer extends AsyncDisposable {
  /** The base URL for a client. */
  readonly url: string;
  /** Every request that reached the script, in order; those refused for breaking a rule are in `refused`. */
  readonly requests: readonly WireRequest[];
  readonly refused: readonly WireFailure[];
  /** Number of steps that no request has used yet. */
  readonly waiting: number;
  push(...steps: readonly WireStep[]): void;
}

/** The parts that make a server behave like a certain provider. */
export interface WireProtocol {
  readonly path: string;
  /** A refusal in the provider's format, or `undefined` for a request that the provider would accept. */
  judge(request: WireRequest): WireFailure | undefined;
  /** The events of an answer, each with its terminating bytes. */
  events(answer: WireAnswer, request: WireRequest): string[];
  errorEvent(): string;
  failure(status: number, kind: string, message: string): WireFailure;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Starts a server on the loopback interface that plays its steps, one per request, and refuses what the provider
 * would.
 */
export async function openWireServer(
  protocol: WireProtocol,
  script: readonly WireStep[] = [],
): Promise<WireServer> {
  const steps = [...script];
  const requests: WireRequest[] = [];
  const refused: WireFailure[] = [];

  const answer = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const request = await readRequest(incoming, response);
    const refusal =
      incoming.method !== 'POST' || request.path !== protocol.path
        ? protocol.failure(404, 'not_found_error', `no such address: ${incoming.method} ${request.path}`)
        : protocol.judge(request);
    if (refusal !== undefined) {
      refused.push(refusal);
      sendFailure(response, refusal, protocol);
      return;
    }
    requests.push(request);
    const step =
      steps.shift() ?? protocol.failure(400, 'invalid_request_error', 'the script has no step left');
    await play(typeof step === 'function' ? await step(request) : step, request, response, protocol);
  };

  const server = createServer((incoming, response) => {
    answer(incoming, response).catch((error: unknown) => {
      // A disconnected client is part of the test; any other error must not look like an answer.
      response.destroy(error instanceof Error ? error : undefined);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const prefix = protocol.path.slice(0, protocol.path.indexOf('/', 1));
  return {
    url: `http://127.0.0.1:${port}${prefix}`,
    requests,
    refused,
    get waiting() {
      return steps.length;
    },
    push: (...more) => {
      steps.push(...more);
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

async function readRequest(incoming: IncomingMessage, response: ServerResponse): Promise<WireRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  const headers: Record<string, string | undefined> = {};
  for (const [name, value] of Object.entries(incoming.headers)) headers[name] = String(value);
  let body: unknown;
  try {
    body = JSON.parse(Buffer.concat(chunks).toString());
  } catch {
    // Not JSON: an empty body breaks the rules, and the client gets that refusal.
  }
  const closed = new Promise<void>((resolve) => response.once('close', resolve));
  return { path: incoming.url ?? '', headers, body: isRecord(body) ? body : {}, closed };
}

async function play(
  reply: WireReply,
  request: WireRequest,
  response: ServerResponse,
  protocol: WireProtocol,
): Promise<void> {
  if ('connection' in reply) {
    if (reply.connection === 'reset') response.socket?.resetAndDestroy();
    return;
  }
  if ('status' in reply) {
    sendFailure(response, reply, protocol);
    return;
  }
  const { split = 'events', end } = reply.delivery ?? {};
  const events = protocol.events(reply, request);
  const sent = end === undefined ? events : events.slice(0, end.after);
  if (end?.how === 'error') sent.push(protocol.errorEvent());
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', ...protocol.headers });
  response.flushHeaders();
  for (const chunk of chunksOf(sent, split)) {
    if (response.destroyed) return;
    // Each write is a separate chunk on the wire, and the client receives it as one.
    await new Promise<void>((resolve) => response.write(chunk, () => resolve()));
    await nextTick();
  }
  if (end?.how === 'stall') return;
  if (end?.how === 'cut') response.socket?.destroy();
  else response.end();
}

function chunksOf(events: readonly string[], split: 'events' | 'bytes'): (string | Buffer)[] {
  if (split === 'events') return [...events];
  const bytes = Buffer.from(events.join(''));
  return Array.from(bytes, (_, i) => bytes.subarray(i, i + 1));
}

function sendFailure(
  response: ServerResponse,
  { status, body, headers }: WireFailure,
  protocol: WireProtocol,
): void {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const type = typeof body === 'string' ? 'text/plain' : 'application/json';
  response.writeHead(status, { 'content-type': type, ...protocol.headers, ...headers });
  response.end(text);
}
