import type { ServerResponse } from 'node:http';
import { isIPv6 } from 'node:net';
import type { MiddlewareHandler } from 'hono';
import { keyedId } from '../../engine/intake/keyed-id.ts';
import { failure } from '../../messages/failure.ts';
import type { Identify, Principal, ServerEnv } from '../context.ts';
import type { ServerLimits } from '../server-config.ts';
import { decideAccess, routeOf } from './access.ts';
import { trustConnection } from './connection-limit.ts';
import type { ServerToken } from './server-token.ts';
import { checkSignInCookie } from './sign-in-cookie.ts';

const SCHEME = 'Bearer ';
const WINDOW_MS = 60_000;
/** Time that a response in progress may take to finish after its token was revoked. */
const CUT_MS = 2000;
/** Number of client addresses that are tracked; beyond it the oldest is dropped. */
const MAX_ADDRESSES = 10_000;

/** Checks the token and the table of routes, once per request. */
export function authenticate(token: ServerToken, limits: ServerLimits): MiddlewareHandler<ServerEnv> {
  const wrongTokens = new RateLimit({
    max: limits.badTokens,
    why: 'request.wrongTokens',
  });
  const strangers = new RateLimit({
    max: limits.requestsPerMinute,
    why: 'request.tooMany',
  });
  return async (c, next) => {
    const header = c.req.header('authorization');
    const given = header?.startsWith(SCHEME) === true ? header.slice(SCHEME.length) : undefined;
    const until = given === undefined ? checkSignInCookie(c, token) : token.check(given);
    const principal: Principal | undefined = until === undefined ? undefined : { kind: 'owner', until };
    const route = routeOf(c.req.method, c.req.path);
    if (until !== undefined) {
      cutOnRevocation(c.env?.outgoing, until);
      trustConnection(c.env?.incoming?.socket, until);
    } else if (route?.who !== 'anyone') {
      const client = clientOf(c.env?.incoming?.socket.remoteAddress);
      // A missing token is not a guess. Pages and probes need no token and are not counted, so clients without a
      // token cannot block them for other clients of the same proxy.
      (given === undefined ? strangers : wrongTokens).count(client);
    }
    c.set('principal', principal);
    decideAccess(route, principal, c.req.path);
    return next();
  };
}

/** Lets the application that mounts the routes decide who sent a request. */
export function authenticateWith(identify: Identify): MiddlewareHandler<ServerEnv> {
  return async (c, next) => {
    const route = routeOf(c.req.method, c.req.path);
    const principal = route?.who === 'anyone' ? undefined : await identify(c.req.raw);
    c.set('principal', principal);
    // Keys of different users must not meet: the answer to a repeated key is that of the first request.
    if (principal?.user !== undefined)
      c.set('idempotencyKey', keyedId('user', principal.user, c.get('idempotencyKey')));
    decideAccess(route, principal, c.req.path);
    return next();
  };
}

/**
 * Streams end by themselves when their token is revoked. This ends the other responses: downloads, and clients that do
 * not read. A response that has not started is not touched, because its request was accepted while the token was valid.
 */
function cutOnRevocation(answer: ServerResponse | undefined, until: AbortSignal): void {
  if (answer === undefined) return;
  const cut = (): void => {
    const timer = setTimeout(() => answer.headersSent && answer.destroy(), CUT_MS);
    answer.once('close', () => clearTimeout(timer));
  };
  until.addEventListener('abort', cut, { once: true });
  answer.once('close', () => until.removeEventListener('abort', cut));
}

/**
 * The unit of rate limits: an IPv4 address in any notation, or the network of an IPv6 address, because its owner can
 * use all addresses in it.
 */
export function clientOf(address: string | undefined): string {
  if (address === undefined) return 'unknown';
  const [, mapped] = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address) ?? [];
  if (mapped !== undefined) return mapped;
  return isIPv6(address) && address !== '::1' ? network(address) : address;
}

function network(address: string): string {
  const [head = '', tail] = (address.split('%')[0] ?? '').split('::');
  const groups = head.split(':').filter((group) => group !== '');
  const behind = (tail ?? '').split(':').filter((group) => group !== '');
  const zeros = tail === undefined ? 0 : 8 - groups.length - behind.length;
  return [...groups, ...Array<string>(Math.max(0, zeros)).fill('0'), ...behind].slice(0, 4).join(':');
}

interface RateOptions {
  /** Per minute and client. */
  readonly max: number;
  readonly why: 'request.wrongTokens' | 'request.tooMany';
}

/** Counts by client and minute. Valid tokens are never counted, so attackers cannot lock the owner out. */
class RateLimit {
  readonly #options: RateOptions;
  readonly #counts: Map<string, { count: number; until: number }> = new Map();

  constructor(options: RateOptions) {
    this.#options = options;
  }

  count(client: string): void {
    const { max, why } = this.#options;
    const at = Date.now();
    let row = this.#counts.get(client);
    if (row === undefined || row.until <= at) {
      this.#counts.delete(client);
      row = { count: 0, until: at + WINDOW_MS };
      this.#counts.set(client, row);
      const [oldest] = this.#counts.keys();
      if (this.#counts.size > MAX_ADDRESSES && oldest !== undefined) this.#counts.delete(oldest);
    }
    row.count++;
    if (row.count <= max) return;
    const retryAfter = Math.ceil((row.until - at) / 1000);
    throw failure('RATE_LIMITED', why, { seconds: retryAfter }, { details: { retryAfter } });
  }
}
