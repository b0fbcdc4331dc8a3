import type { Context } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import type { ServerEnv } from '../context.ts';
import type { ServerToken } from './server-token.ts';

const MAX_AGE_SECONDS = 30 * 24 * 3600;
const READS: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/**
 * Signs in all tabs of a browser. Scripts cannot read the cookie, other sites cannot send it, and it contains nothing
 * from which the token could be computed.
 */
export function setSignInCookie(
  c: Context<ServerEnv>,
  value: string,
  { keep }: { readonly keep: boolean },
): void {
  setCookie(c, cookieName(c), value, { ...optionsFor(c), ...(keep && { maxAge: MAX_AGE_SECONDS }) });
}

export function clearSignInCookie(c: Context<ServerEnv>): void {
  deleteCookie(c, cookieName(c), optionsFor(c));
}

/**
 * @returns a signal that aborts when the cookie stops being valid, or undefined if the request has no valid one.
 * A request that another page may have caused counts as one without a cookie.
 */
export function checkSignInCookie(c: Context<ServerEnv>, token: ServerToken): AbortSignal | undefined {
  const value = getCookie(c, cookieName(c));
  return value === undefined || !isOfThisPage(c) ? undefined : token.checkCookie(value);
}

/** Browsers name the page that sends a request: always for writes, and for reads where they know it. */
function isOfThisPage(c: Context<ServerEnv>): boolean {
  const site = c.req.header('sec-fetch-site');
  if (site !== undefined && site !== 'same-origin') return false;
  const origin = c.req.header('origin');
  if (origin === undefined) return READS.has(c.req.method);
  return URL.canParse(origin) && new URL(origin).host === c.req.header('host')?.toLowerCase();
}

/** Cookies are shared by all ports of a host, and several servers may run on one. */
function cookieName(c: Context<ServerEnv>): string {
  const port = /:(\d+)$/.exec(c.req.header('host') ?? '')?.[1];
  return port === undefined ? 'reprise' : `reprise-${port}`;
}

function optionsFor(c: Context<ServerEnv>): {
  readonly httpOnly: true;
  readonly sameSite: 'Strict';
  readonly path: '/';
  readonly secure: boolean;
} {
  // A proxy may add TLS, which only the browser knows.
  const secure = c.req.header('origin')?.startsWith('https:') === true;
  return { httpOnly: true, sameSite: 'Strict', path: '/', secure };
}
