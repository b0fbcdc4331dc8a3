import { randomUUID } from 'node:crypto';
import { OpenAPIHono } from '@hono/zod-openapi';
import type { Context, MiddlewareHandler } from 'hono';
import type { ZodError } from 'zod';
import type { Reprise } from '../engine/reprise.ts';
import type { Identify, ListModels, ModelByName, ServerApp, ServerContext, ServerEnv } from './context.ts';
import { Idempotency, idempotent, isIdempotencyKey } from './idempotency.ts';
import { inputError } from './input-error.ts';
import { Metrics } from './metrics.ts';
import { registerOpenApi } from './openapi.ts';
import { registerPages } from './pages/pages.ts';
import { answerNotFound, answerProblem } from './problem.ts';
import { registerChat } from './routes/chat.ts';
import { registerConversations } from './routes/conversations.ts';
import { registerInbound } from './routes/inbound.ts';
import { registerMcp } from './routes/mcp.ts';
import { registerMeta } from './routes/meta.ts';
import { registerSearch } from './routes/search.ts';
import { registerSessionList } from './routes/session-list.ts';
import { registerSessionLooks } from './routes/session-looks.ts';
import { registerSessionSteps } from './routes/session-steps.ts';
import { registerSession } from './routes/sessions.ts';
import { registerUsage } from './routes/usage.ts';
import { routeOf } from './security/access.ts';
import { authenticate, authenticateWith } from './security/auth.ts';
import { cors, guards } from './security/guards.ts';
import { bodyLimits, resolveLimits } from './security/limits.ts';
import { ownSessionsOnly } from './security/ownership.ts';
import type { ServerToken } from './security/server-token.ts';
import type { Logger, ServerConfig } from './server-config.ts';
import { StreamPlaces } from './sse/stream-places.ts';

export interface AppOptions {
  readonly reprise: Reprise;
  readonly config: ServerConfig;
  readonly token?: ServerToken | undefined;
  readonly identify?: Identify | undefined;
  readonly logger: Logger;
  /** Aborts when the server stops. */
  readonly closing?: AbortSignal;
  readonly metrics?: Metrics;
  readonly modelByName?: ModelByName | undefined;
  readonly listModels?: ListModels | undefined;
  readonly version?: string | undefined;
}

export function createContext({
  config,
  closing = new AbortController().signal,
  metrics = new Metrics(),
  version = '0.0.0',
  modelByName,
  ...options
}: AppOptions): ServerContext {
  const limits = resolveLimits(config.limits);
  const places = new StreamPlaces(limits.streams);
  const idempotency = new Idempotency();
  return { ...options, config, closing, metrics, version, modelByName, limits, places, idempotency };
}

/** The whole API as one Hono app. It does not close the engine; the caller does. */
export function createRoutes(context: ServerContext): ServerApp {
  const { config, token, limits, identify } = context;
  const app: ServerApp = new OpenAPIHono<ServerEnv>({
    defaultHook: (result) => {
      if (!result.success) throw inputError(result.error as ZodError);
    },
  });
  app.onError(answerProblem(context) as Parameters<ServerApp['onError']>[0]);
  app.notFound((c) => answerNotFound(c));
  app.use(frame(context));
  app.use(guards(config, { checkHost: identify === undefined }));
  app.use(cors(config));
  if (identify !== undefined) app.use(authenticateWith(identify));
  else if (token !== undefined) app.use(authenticate(token, limits));
  app.use(bodyLimits(limits));
  app.use(ownSessionsOnly(context));
  app.use(idempotent(context.idempotency));
  registerMeta(app, context);
  registerSessionList(app, context);
  registerSession(app, context);
  registerSessionSteps(app, context);
  registerSessionLooks(app, context);
  registerConversations(app, context);
  registerSearch(app, context);
  registerUsage(app, context);
  registerMcp(app, context);
  registerChat(app, context);
  registerInbound(app, context);
  if (identify === undefined) registerPages(app);
  registerOpenApi(app, context);
  return app;
}

const HEADERS: Readonly<Record<string, string>> = {
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cross-Origin-Opener-Policy': 'same-origin',
};
const CLOSED_PAGE = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/** Runs around every route: sets the common headers of each response and logs one line about it. */
function frame({ logger, metrics, closing }: ServerContext): MiddlewareHandler<ServerEnv> {
  return async (c, next) => {
    const began = performance.now();
    const { method, path } = c.req;
    const requestId = randomUUID();
    const route = routeOf(method, path)?.pattern ?? 'unknown';
    c.set('requestId', requestId);
    c.set('route', route);
    const isRead = method === 'GET' || method === 'HEAD' || method === 'OPTIONS';
    const given = c.req.header('idempotency-key');
    c.set('hasOwnKey', given !== undefined);
    const key = given !== undefined && isIdempotencyKey(given) ? given : randomUUID();
    c.set('idempotencyKey', key);
    await next();
    carry(c, isRead, key);
    // An open keep-alive connection would delay the stop.
    if (closing.aborted) c.res.headers.set('Connection', 'close');
    const seconds = (performance.now() - began) / 1000;
    metrics.request(route, c.res.status, seconds);
    // Log no query string and no session address: they show what a user asked for.
    logger.info(
      { requestId, method, route, status: c.res.status, ms: Math.round(seconds * 1000) },
      'request',
    );
  };
}

/** Sets headers in place, because `c.header` would create a new response each time. */
function carry(c: Context<ServerEnv>, isRead: boolean, key: string): void {
  const { headers } = c.res;
  for (const [name, value] of Object.entries(HEADERS)) headers.set(name, value);
  if (!headers.has('content-security-policy')) headers.set('Content-Security-Policy', CLOSED_PAGE);
  if (!headers.has('cache-control')) headers.set('Cache-Control', 'no-store');
  headers.set('X-Request-Id', c.get('requestId'));
  if (!isRead) headers.set('Idempotency-Key', key);
}
