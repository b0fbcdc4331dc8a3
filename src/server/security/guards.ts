import { isIP } from 'node:net';
import type { Context, MiddlewareHandler } from 'hono';
import type { RepriseError } from '../../errors.ts';
import { failure } from '../../messages/failure.ts';
import type { ServerEnv } from '../context.ts';
import type { ServerConfig } from '../server-config.ts';
import { routeOf } from './access.ts';

const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);
const HOST = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::(\d{1,5}))?$/i;
const MAX_SHOWN = 100;
const CONTROL = /[\u0000-\u001f\u007f]/;

/**
 * With `checkHost` false, the application that mounts the routes decides which hosts it answers for.
 *
 * Refuses requests that a web page made without the user's consent, and request targets that proxies may read
 * differently.
 */
export function guards(
  config: ServerConfig,
  { checkHost = true }: { readonly checkHost?: boolean } = {},
): MiddlewareHandler<ServerEnv> {
  const answersFor = hostRule(config);
  const origins = new Set(config.cors?.origins ?? []);
  return async (c, next) => {
    checkTarget(c);
    // A request that an application passes on may have no Host header; its URL names the host.
    const host = hostOf(c) ?? (checkHost ? undefined : new URL(c.req.url).host);
    if (host === undefined || (checkHost && !answersFor(host)))
      throw failure('MISDIRECTED', 'request.wrongHost', { host: host?.slice(0, MAX_SHOWN) ?? null });
    checkOrigin(c, host, origins);
    return next();
  };
}

/** Accepts only `/path?query` in which every segment is a plain name, so that no id can be read as a path. */
function checkTarget(c: Context<ServerEnv>): void {
  const target = c.env?.incoming?.url;
  if (target === undefined) return;
  if (!target.startsWith('/')) throw failure('MISDIRECTED', 'request.fullUrl');
  const [path = ''] = target.split('?');
  if (path === '/') return;
  for (const segment of path.slice(1).split('/')) {
    const name = decoded(segment);
    if (
      name === undefined ||
      name === '' ||
      name === '.' ||
      name === '..' ||
      CONTROL.test(name) ||
      segment.includes('#')
    )
      throw failure('INVALID_ID', 'request.badPath', { segment: segment.slice(0, MAX_SHOWN) });
  }
}

function decoded(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined; // an invalid percent escape
  }
}

function hostOf(c: Context<ServerEnv>): string | undefined {
  const raw = c.env?.incoming?.rawHeaders ?? [];
  const given = raw.filter((_, i) => i % 2 === 0 && raw[i]?.toLowerCase() === 'host');
  // Proxies could disagree about which of two hosts counts.
  if (given.length > 1) return undefined;
  return c.req.header('host')?.toLowerCase();
}

/**
 * Checks the host name against DNS rebinding, in which an attacker's name resolves to this machine. An IP address
 * cannot be rebound, so addresses are accepted if the server listens beyond loopback.
 */
function hostRule({ host = '127.0.0.1', allowedHosts = [] }: ServerConfig): (given: string) => boolean {
  const own = host.includes(':') ? `[${host.toLowerCase()}]` : host.toLowerCase();
  const names = new Set([...LOOPBACK, own, ...allowedHosts.map((name) => name.toLowerCase())]);
  const isOpen = !isLoopback(host);
  return (given) => {
    const [, name, port] = HOST.exec(given) ?? [];
    if (name === undefined || Number(port ?? 0) > 65_535) return false;
    return names.has(name) || names.has(given) || (isOpen && isIP(name.replace(/^\[|\]$/g, '')) !== 0);
  };
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host);
}

function checkOrigin(c: Context<ServerEnv>, host: string, origins: ReadonlySet<string>): void {
  const origin = c.req.header('origin');
  const site = c.req.header('sec-fetch-site');
  const isOwn = origin === `http://${host}` || origin === `https://${host}`;
  const isAllowed = origin !== undefined && origins.has(origin);
  if (origin !== undefined && !isOwn && !isAllowed) throw foreign(origin.slice(0, MAX_SHOWN));
  if (site === undefined || site === 'same-origin' || site === 'none' || isAllowed) return;
  // A link on another site may open the static pages.
  const isLink = c.req.header('sec-fetch-mode') === 'navigate' && c.req.method === 'GET';
  if (isLink && routeOf('GET', c.req.path)?.who === 'anyone') return;
  throw foreign(null);
}

function foreign(origin: string | null): RepriseError {
  return failure('FORBIDDEN', 'request.foreignPage', { origin });
}

/** Answers CORS preflight requests. No origin is allowed unless it is configured. */
export function cors({ cors: configured }: ServerConfig): MiddlewareHandler<ServerEnv> {
  const origins = new Set(configured?.origins ?? []);
  return async (c, next) => {
    const origin = c.req.header('origin');
    if (origin === undefined || !origins.has(origin)) return next();
    if (c.req.method === 'OPTIONS' && c.req.header('access-control-request-method') !== undefined) {
      c.header('Access-Control-Allow-Methods', 'GET, POST, PATCH, DELETE');
      c.header(
        'Access-Control-Allow-Headers',
        'Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID',
      );
      c.header('Access-Control-Max-Age', '600');
      c.status(204);
      allowOrigin(c, origin);
      return c.body(null);
    }
    await next();
    allowOrigin(c, origin);
    return undefined;
  };
}

function allowOrigin(c: Context<ServerEnv>, origin: string): void {
  c.header('Access-Control-Allow-Origin', origin);
  c.header('Access-Control-Expose-Headers', 'ETag, Idempotency-Key, Retry-After, X-Request-Id');
  c.header('Vary', 'Origin', { append: true });
}
