import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { RepriseError } from '../errors.ts';
import { PROBLEM_TYPE, problemOf } from '../protocol/problem.ts';
import type { ServerApp } from './context.ts';
import type { ServerLimits } from './limits.ts';

const CHECK_MS = 2000;
const MAX_HEADERS = 100;

export interface ListenOptions {
  readonly app: ServerApp;
  readonly host: string;
  readonly port: number;
  readonly limits: ServerLimits;
}

export interface Listening {
  readonly url: string;
  readonly port: number;
  readonly server: Server;
}

/** A socket for the app, with the limits that hold before there is a request. */
export async function listen({ app, host, port, limits }: ListenOptions): Promise<Listening> {
  const listener = getRequestListener(app.fetch, {
    overrideGlobalObjects: false,
    // What the adapter cannot read at all: a broken host or target.
    errorHandler: (cause) =>
      refusal(new RepriseError('INVALID_INPUT', 'not a request this server can read', { cause })),
  });
  const server = createServer(
    {
      maxHeaderSize: limits.headerBytes,
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: limits.requestTimeoutMs,
      keepAliveTimeout: limits.keepAliveMs,
      // By default it looks every 30 s, and a slow client stays as long.
      connectionsCheckingInterval: Math.min(CHECK_MS, limits.headersTimeoutMs),
      requireHostHeader: false,
    },
    (incoming, outgoing) => {
      closeAfterRefusal(incoming.socket, outgoing);
      void listener(incoming, outgoing);
    },
  );
  server.maxHeadersCount = MAX_HEADERS;
  server.maxConnections = limits.maxConnections;
  server.on('clientError', answerBadClient);
  server.on('connect', (_request, socket) => answerBadClient({ code: 'CONNECT' }, socket as Socket));
  server.on('upgrade', (_request, socket) => answerBadClient({ code: 'UPGRADE' }, socket as Socket));
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => reject(cannotListen(host, port, cause)));
    server.listen({ host, port }, resolve);
  });
  const { port: bound } = server.address() as AddressInfo;
  return { url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}`, port: bound, server };
}

/** A body that was refused is not waited for: so much may be read that the answer arrives, and no more. */
function closeAfterRefusal(socket: Socket, outgoing: ServerResponse): void {
  outgoing.once('finish', () => {
    if (outgoing.statusCode === 413) socket.destroySoon();
  });
}

function cannotListen(host: string, port: number, cause: NodeJS.ErrnoException): RepriseError {
  const isTaken = cause.code === 'EADDRINUSE';
  return new RepriseError(
    'CONFIG_INVALID',
    `cannot listen on ${host}:${port}: ${cause.code ?? cause.message}`,
    {
      details: {
        next: isTaken
          ? 'Another server has this port; name one with --port, or 0 for any.'
          : 'Name another with --host.',
      },
      cause,
    },
  );
}

const BAD_CLIENTS: Readonly<Record<string, readonly [number, string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'the headers are too large'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'the request took too long to arrive'],
  UPGRADE: [400, 'this server upgrades to nothing'],
  CONNECT: [405, 'this server is no proxy'],
};

/** What never became a request. Said in the same form as everything else, then the connection is over. */
function answerBadClient({ code = '' }: { code?: string }, socket: Socket): void {
  if (!socket.writable || code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const [status, why] = BAD_CLIENTS[code] ?? [400, 'not HTTP this server can read'];
  const problem = { ...problemOf(new RepriseError('INVALID_INPUT', why), '/'), status };
  const body = JSON.stringify(problem);
  socket.end(
    `HTTP/1.1 ${status} Refused\r\nContent-Type: ${PROBLEM_TYPE}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n` +
      `X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n${body}`,
  );
}

function refusal(error: RepriseError): Response {
  const problem = problemOf(error, '/');
  return new Response(JSON.stringify(problem), {
    status: problem.status,
    headers: {
      'Content-Type': PROBLEM_TYPE,
      'X-Content-Type-Options': 'nosniff',
      'Cache-Control': 'no-store',
    },
  });
}
