import { createHash, timingSafeEqual } from 'node:crypto';
import { isIPv6 } from 'node:net';
import type { MiddlewareHandler } from 'hono';
import { RepriseError } from '../errors.ts';
import { decideAccess, routeOf } from './access.ts';
import type { Principal, ServerEnv } from './context.ts';
import type { ServerLimits } from './limits.ts';

const SCHEME = 'Bearer ';
const WINDOW_MS = 60_000;
/** Addresses whose wrong tokens are counted; of more, the oldest is forgotten. */
const MAX_ADDRESSES = 10_000;

/** Looks at the token once, and asks the table once, for every request. */
export function authenticate(token: string, limits: ServerLimits): MiddlewareHandler<ServerEnv> {
  const expected = sha256(token);
  const wrongTokens = new RateLimit({
    max: limits.badTokens,
    what: 'wrong tokens',
    next: 'Wait, and look whether the token is the one of this server.',
  });
  const strangers = new RateLimit({
    max: limits.requestsPerMinute,
    what: 'requests without a token',
    next: 'Wait, or send the token.',
  });
  return async (c, next) => {
    const header = c.req.header('authorization');
    const given = header?.startsWith(SCHEME) === true ? header.slice(SCHEME.length) : undefined;
    // Digests have one length, so the time tells nothing of the token, nor of how long it is.
    const isGood = given !== undefined && timingSafeEqual(sha256(given), expected);
    const principal: Principal | undefined = isGood ? { kind: 'owner' } : undefined;
    const route = routeOf(c.req.method, c.req.path);
    if (!isGood) {
      const client = clientOf(c.env?.incoming?.socket.remoteAddress);
      // No token is no guess: browsers and probes come without one.
      (given === undefined ? strangers : wrongTokens).count(client);
    }
    c.set('principal', principal);
    decideAccess(route, principal);
    return next();
  };
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/**
 * Who is counted together: an IPv4 address in whichever spelling, or the network of an IPv6 one, because its owner
 * has all the others in it.
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

export interface RateOptions {
  /** In a minute, for each client. */
  readonly max: number;
  readonly what: string;
  readonly next: string;
  readonly now?: () => number;
}

/** Counts by client and minute. Good tokens are never counted: nobody can lock the owner out. */
export class RateLimit {
  readonly #options: RateOptions;
  readonly #counts: Map<string, { count: number; until: number }> = new Map();

  constructor(options: RateOptions) {
    this.#options = options;
  }

  count(client: string): void {
    const { max, what, next, now = Date.now } = this.#options;
    const at = now();
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
    throw new RepriseError('RATE_LIMITED', `too many ${what} from this address`, {
      details: { retryAfter, next },
    });
  }
}
