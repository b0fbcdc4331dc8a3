import type { IncomingMessage } from 'node:http';
import type { MiddlewareHandler } from 'hono';
import type { RepriseError } from '../../errors.ts';
import { failure } from '../../messages/failure.ts';
import { checkJsonText } from '../../protocol/json-text.ts';
import type { ServerEnv } from '../context.ts';
import type { ServerLimits } from '../server-config.ts';
import { routeOf } from './access.ts';

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

/** Uses the default for values that are undefined. */
export function resolveLimits(given: Partial<ServerLimits> = {}): ServerLimits {
  const set = Object.entries(given).filter(([, value]) => value !== undefined);
  return { ...DEFAULT_LIMITS, ...Object.fromEntries(set) };
}

const MAX_SHOWN = 100;
const JSON_TYPE = /^application\/json\s*(?:;\s*charset\s*=\s*"?utf-8"?\s*)?$/i;

/**
 * Reads a body up to its limit and checks it before it is parsed. Runs after the token check, so that clients without a
 * token cannot make the server read bodies.
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
    // Checked before the body is read: another site's page can send text and forms without a preflight, but not JSON.
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
    // The Hono adapter takes the body from here.
    if (incoming !== undefined) Object.assign(incoming, { rawBody: bytes });
    return next();
  };
}

/** Data beyond the limit is not read; the response closes the connection. */
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
    const onGone = (): void => done(() => reject(failure('ABORTED', 'request.cutOff')));
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
