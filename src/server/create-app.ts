import { getRequestListener } from '@hono/node-server';
import type { Reprise } from '../engine/reprise.ts';
import type { RepriseError } from '../errors.ts';
import { failure } from '../messages/failure.ts';
import { createContext, createRoutes } from './app.ts';
import type { Principal } from './context.ts';
import type { Logger, ServerConfig } from './server-config.ts';

/** Who sent a request, as the application knows it. */
export interface AppCaller {
  /** The id of the user, at most 256 characters. */
  readonly user: string;
  /** `owner`: everything. `user`: its own sessions. `reader`: reads the sessions of `user`. */
  readonly role: 'owner' | 'user' | 'reader';
}

export interface CreateAppOptions {
  readonly reprise: Reprise;
  /**
   * The application's own authentication, called for each request, usually with a cookie or a token of the
   * application. It receives the request without its body. Undefined: the caller is unknown (401).
   */
  readonly auth: (request: Request) => AppCaller | undefined | Promise<AppCaller | undefined>;
  /** The path below which the application mounts the routes, such as `/api/reprise`. */
  readonly basePath?: string;
  /** Origins of pages that may call the API, besides the own one. */
  readonly origins?: readonly string[];
  readonly limits?: ServerConfig['limits'];
  readonly logger?: Logger;
}

/** The routes of Reprise as a fetch handler. */
export interface RepriseApp {
  (request: Request): Promise<Response>;
  readonly fetch: (request: Request) => Promise<Response>;
  /** The same for `node:http`, Express and Connect: takes their request and response. */
  readonly node: (incoming: object, outgoing: object) => void;
  /** Ends the streams. The engine stays open. */
  close(): void;
}

const AUTH_TIMEOUT_MS = 10_000;
const MAX_USER_CHARS = 256;
const SILENT: Logger = { info() {}, warn() {}, error() {} };

/**
 * The HTTP API of Reprise for an application: sessions, chat streams, search and exports, each for the sessions that
 * belong to the caller. Mount it in Hono, Express, Next.js, Bun or Deno.
 *
 * @example
 * ```ts
 * import { openReprise } from 'reprise';
 * import { createApp } from 'reprise/server';
 *
 * const reprise = await openReprise({ store: 'memory' });
 * const app = createApp({
 *   reprise,
 *   basePath: '/api/reprise',
 *   auth: (request) => {
 *     const user = request.headers.get('x-user');
 *     return user === null ? undefined : { user, role: 'user' };
 *   },
 * });
 * const response = await app(new Request('http://localhost/api/reprise/api/sessions', { headers: { 'x-user': 'ada' } }));
 * console.log(await response.json());
 * await reprise.close();
 * ```
 */
export function createApp(options: CreateAppOptions): RepriseApp {
  const { reprise, auth, basePath = '', origins = [], limits, logger = SILENT } = options;
  const closing = new AbortController();
  const context = createContext({
    reprise,
    config: { cors: { origins }, limits },
    logger,
    closing: closing.signal,
    identify: (request) => identify(auth, request, closing.signal),
  });
  const routes = createRoutes(context);
  const base = basePath.replace(/\/+$/, '');
  const answer = async (request: Request): Promise<Response> => routes.fetch(below(base, request));
  return Object.assign(answer, {
    fetch: answer,
    node: getRequestListener(answer, { overrideGlobalObjects: false }) as unknown as RepriseApp['node'],
    close: () => closing.abort(),
  });
}

/** The request as the routes see it, without the path below which they are mounted. */
function below(base: string, request: Request): Request {
  if (base === '') return request;
  const url = new URL(request.url);
  if (url.pathname !== base && !url.pathname.startsWith(`${base}/`)) return request;
  url.pathname = url.pathname.slice(base.length) || '/';
  return new Request(url, request);
}

async function identify(
  auth: CreateAppOptions['auth'],
  request: Request,
  until: AbortSignal,
): Promise<Principal | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const seconds = AUTH_TIMEOUT_MS / 1000;
    timer = setTimeout(() => reject(new Error(`no answer within ${seconds} seconds`)), AUTH_TIMEOUT_MS);
  });
  try {
    const caller: unknown = await Promise.race([
      (async () => auth(new Request(request.url, { method: request.method, headers: request.headers })))(),
      late,
    ]);
    return caller === undefined ? undefined : principalOf(caller, until);
  } catch (error) {
    throw authFailed(error instanceof Error ? error.message : String(error), error);
  } finally {
    clearTimeout(timer);
  }
}

function principalOf(caller: unknown, until: AbortSignal): Principal {
  const { user, role } = (caller ?? {}) as { readonly user?: unknown; readonly role?: unknown };
  if (role === 'owner') return { kind: role, until };
  const isUser = typeof user === 'string' && user !== '' && user.length <= MAX_USER_CHARS;
  if ((role === 'user' || role === 'reader') && isUser) return { kind: role, user, until };
  throw new TypeError('it must return { user, role } or undefined');
}

function authFailed(reason: string, cause: unknown): RepriseError {
  return failure('UNAVAILABLE', 'request.authFailed', { reason }, { cause });
}
