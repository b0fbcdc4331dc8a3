import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { RepriseError } from '../../errors.ts';
import { failure } from '../../messages/failure.ts';
import type { ServerConfig, ServerLimits } from '../server-config.ts';
import { answerBadClient } from './bad-client.ts';
import { ConnectionLimit } from './connection-limit.ts';
import { resolveLimits } from './limits.ts';

const DEFAULT_HOST = '127.0.0.1';
const DEFAULT_PORT = 4747;
const CHECK_MS = 2000;
const MAX_HEADERS = 100;
const MAX_DISCARDED_BYTES = 16 * 1024 * 1024;
const MAX_DISCARDING_MS = 3000;

export interface BindOptions {
  readonly host: string;
  readonly port: number;
  readonly limits: ServerLimits;
}

/** The address and limits from the configuration. */
export function placeOf({ host = DEFAULT_HOST, port = DEFAULT_PORT, limits }: ServerConfig): BindOptions {
  return { host, port, limits: resolveLimits(limits) };
}

/** A listening socket. Requests wait until a listener is set. */
export interface Bound {
  readonly url: string;
  readonly server: Server;
  readonly connections: ConnectionLimit;
  /** Replaces the listener for all further requests. */
  answer(listener: RequestListener): void;
}

/**
 * Listens with the limits that apply before a request is read. It does not need the application, so connections are
 * accepted while the server still loads; early requests wait instead of being refused.
 */
export async function bind({ host, port, limits }: BindOptions): Promise<Bound> {
  const { promise: ready, resolve: answer } = Promise.withResolvers<RequestListener>();
  let listener: RequestListener | undefined;
  const connections = new ConnectionLimit(limits.connections);
  const server = createServer(
    {
      maxHeaderSize: limits.headerBytes,
      // The default of 30 s would keep a slow client connected that long.
      connectionsCheckingInterval: Math.min(CHECK_MS, limits.headersTimeoutMs),
      requireHostHeader: false,
    },
    (incoming, outgoing) => {
      connections.touch(incoming.socket);
      discardRest(incoming, outgoing);
      if (listener === undefined) void ready.then((late) => late(incoming, outgoing));
      else listener(incoming, outgoing);
    },
  );
  server.maxHeadersCount = MAX_HEADERS;
  applyLimits({ server, connections }, limits);
  server.on('connection', (socket) => connections.add(socket));
  server.on('clientError', answerBadClient);
  server.on('connect', (_request, socket) => answerBadClient({ code: 'CONNECT' }, socket as Socket));
  server.on('upgrade', (_request, socket) => answerBadClient({ code: 'UPGRADE' }, socket as Socket));
  await new Promise<void>((resolve, reject) => {
    // Not `once`: the server also emits `error` if it cannot accept a connection (EMFILE), and then continues.
    server.on('error', (cause: NodeJS.ErrnoException) => reject(cannotListen(host, port, cause)));
    server.listen({ host, port }, resolve);
  });
  const { port: bound } = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}`,
    server,
    connections,
    answer: (given) => {
      listener = given;
      answer(given);
    },
  };
}

/** Applies the limits that can change while the server runs. */
export function applyLimits(
  { server, connections }: Pick<Bound, 'server' | 'connections'>,
  limits: ServerLimits,
): void {
  server.headersTimeout = limits.headersTimeoutMs;
  server.requestTimeout = limits.requestTimeoutMs;
  server.keepAliveTimeout = limits.keepAliveMs;
  connections.max = limits.connections;
}

/**
 * Closing a connection while its client still sends resets it, and the client may lose the answer. So the unread rest
 * of a body is read and discarded, within limits.
 */
function discardRest(incoming: IncomingMessage, outgoing: ServerResponse): void {
  outgoing.once('finish', () => {
    if (incoming.complete) return;
    const close = (): void => void incoming.socket.destroy();
    const timer = setTimeout(close, MAX_DISCARDING_MS).unref();
    let left = MAX_DISCARDED_BYTES;
    incoming.on('data', (chunk: Buffer) => {
      left -= chunk.length;
      if (left < 0) close();
    });
    incoming.once('close', () => clearTimeout(timer));
    incoming.resume();
  });
}

function cannotListen(host: string, port: number, cause: NodeJS.ErrnoException): RepriseError {
  const { code, message } = cause;
  const params = { host, port, reason: code ?? message, isTaken: code === 'EADDRINUSE' };
  return failure('CONFIG_INVALID', 'server.cannotListen', params, { cause });
}
