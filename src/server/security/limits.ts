import type { IncomingMessage } from 'node:http';
import type { MiddlewareHandler } from 'hono';
import { RepriseError } from '../../errors.ts';
import { failure } from '../../messages/failure.ts';
import { checkJsonText } from '../../protocol/json-text.ts';
import type { ServerEnv } from '../context.ts';
import { routeOf } from './access.ts';

/** Bounds that keep one client from taking the server from the others. */
export interface ServerLimits {
  /** Of a request body, but those with messages. */
  readonly bodyBytes: number;
  /** Of a body with a message: text, context and images in base64. */
  readonly messageBytes: number;
  readonly jsonDepth: number;
  /** Values and names in one body. */
  readonly jsonValues: number;
  /** At once. At the limit the oldest connection without a valid token is closed for a new one. */
  readonly connections: number;
  readonly headerBytes: number;
  readonly headersTimeoutMs: number;
  /** For the whole request to arrive. */
  readonly requestTimeoutMs: number;
  /** Of an idle connection. Longer than a proxy keeps its own (60 s are common): the one who sends shall be the one who leaves. */
  readonly keepAliveMs: number;
  /** So many wrong tokens in a minute from one address; good ones pass always. */
  readonly badTokens: number;
  /** Of one address, requests that need a token and come without one. Pages, `/healthz` and the owner have no such limit. */
  readonly requestsPerMinute: number;
  /** Streams that are open at once; the rest of the connections is for questions. */
  readonly streams: number;
  /** How long a stop waits for requests; `reprise serve` gives turns a second more. */
  readonly graceMs: number;
  /** What may wait for a slow reader of a stream before it is let go. */
  readonly streamBufferBytes: number;
  /** A quiet stream says so often that it is there. */
  readonly streamKeepAliveMs: number;
}

const DEFAULT_LIMITS: ServerLimits = {
  bodyBytes: 1024 * 1024,
  messageBytes: 24 * 1024 * 1024,
  jsonDepth: 100,
  jsonValues: 100_000,
  connections: 1000,
  headerBytes: 16 * 1024,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 60_000,
  keepAliveMs: 75_000,
  badTokens: 30,
  requestsPerMinute: 1200,
  streams: 800,
  graceMs: 7000,
  streamBufferBytes: 1024 * 1024,
  streamKeepAliveMs: 15_000,
};

/** With `undefined` for what nobody set. */
export function resolveLimits(given: Partial<ServerLimits> = {}): ServerLimits {
  const set = Object.entries(given).filter(([, value]) => value !== undefined);
  return { ...DEFAULT_LIMITS, ...Object.fromEntries(set) };
}

const MAX_SHOWN = 100;
const JSON_TYPE = /^application\/json\s*(?:;\s*charset\s*=\s*"?utf-8"?\s*)?$/i;

/**
 * Reads a body up to its limit and no further, and looks at it before anything parses it. Comes after the token was
 * seen: strangers cannot make the server read.
 */
export function bodyLimits(limits: ServerLimits): MiddlewareHandler<ServerEnv> {
  return async (c, next) => {
    c.set('bodyText', '');
    const { method } = c.req;
    if (method === 'GET' || method === 'HEAD') return next();
    const isMessage = routeOf(method, c.req.path)?.isMessage === true;
    const max = isMessage ? limits.messageBytes : limits.bodyBytes;
    const declared = c.req.header('content-length');
    if (declared !== undefined && Number(declared) > max) throw tooLarge(max);
    const encoding = c.req.header('content-encoding');
    if (encoding !== undefined && encoding.toLowerCase() !== 'identity')
      throw failure('UNSUPPORTED_MEDIA_TYPE', 'request.bodyCompressed', {
        encoding: encoding.slice(0, MAX_SHOWN),
      });
    const type = c.req.header('content-type');
    // Before it is read: a page of another site can send text and forms without asking, but not JSON.
    if (type !== undefined && !JSON_TYPE.test(type)) throw badType(type.slice(0, MAX_SHOWN));
    const { incoming } = c.env ?? {};
    const bytes =
      incoming === undefined ? Buffer.from(await c.req.raw.clone().arrayBuffer()) : await read(incoming, max);
    if (bytes.length > max) throw tooLarge(max);
    if (bytes.length > 0) {
      if (type === undefined) throw badType(null);
      const text = decode(bytes);
      checkJsonText(text, limits);
      c.set('bodyText', text);
    }
    // Where the adapter looks for a body that was read before.
    if (incoming !== undefined) Object.assign(incoming, { rawBody: bytes });
    return next();
  };
}

/** What is on its way beyond the limit is left unread; the answer closes the connection. */
function read(incoming: IncomingMessage, max: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const done = (settle: () => void): void => {
      incoming.off('data', onData).off('end', onEnd).off('error', onGone).off('close', onGone);
      settle();
    };
    const onData = (chunk: Buffer): void => {
      length += chunk.length;
      if (length > max) {
        incoming.pause();
        done(() => reject(tooLarge(max)));
      } else chunks.push(chunk);
    };
    const onEnd = (): void => done(() => resolve(Buffer.concat(chunks)));
    const onGone = (): void =>
      done(() =>
        reject(new RepriseError('ABORTED', 'the client disconnected before its request was complete')),
      );
    incoming.on('data', onData).on('end', onEnd).on('error', onGone).on('close', onGone);
  });
}

function decode(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw failure('INVALID_INPUT', 'request.bodyNotUtf8', {}, { cause });
  }
}

function tooLarge(max: number): RepriseError {
  return failure('LIMIT_EXCEEDED', 'request.bodyTooLarge', { max }, { details: { limit: 'body', max } });
}

function badType(type: string | null): RepriseError {
  return failure('UNSUPPORTED_MEDIA_TYPE', 'request.bodyType', { type });
}
