import { failure } from '../../messages/failure.ts';
import type { Principal } from '../context.ts';

/**
 * The only module that decides who may use a route. A path that is not in the table also needs the owner's token, so
 * that a stranger cannot learn which routes exist.
 */
export type Who = 'anyone' | 'reader' | 'user' | 'owner' | 'admin';

/** What each kind of principal may use; `admin` routes are for the owner. */
const MAY_USE: Readonly<Record<Principal['kind'], readonly Who[]>> = {
  owner: ['reader', 'user', 'owner', 'admin'],
  user: ['reader', 'user'],
  reader: ['reader'],
};

export interface RouteRow {
  readonly method: string;
  /** The path as in the OpenAPI document. */
  readonly pattern: string;
  readonly who: Who;
  /** The body may contain a message with images. */
  readonly isMessage?: true;
  /** The inbox row provides idempotency, because the answer is a stream or waits for a turn. */
  readonly isStream?: true;
}

const MAX_SHOWN_PATH = 200;

type Rest = Partial<Pick<RouteRow, 'isMessage' | 'isStream'>>;

const rows = (who: Who, ...routes: readonly string[]): RouteRow[] => routes.map((route) => row(who, route));

function row(who: Who, route: string, rest: Rest = {}): RouteRow {
  const [method = '', pattern = ''] = route.split(' ');
  return { method, pattern, who, ...rest };
}

const SESSION_ROUTES: readonly string[] = [
  'GET ',
  'PATCH ',
  'DELETE ',
  'POST /compact',
  'POST /fork',
  'POST /branch',
  'POST /undo',
  'POST /redo',
  'POST /pin',
  'POST /unpin',
  'POST /restore',
  'POST /purge',
  'POST /command',
  'GET /pins',
  'GET /context',
  'GET /tree',
  'GET /totals',
  'GET /export',
  'GET /follow',
  'GET /explain/{turnId}',
  'GET /blobs/{blob}',
];

/** Reading is for readers too. A purge removes copies in other sessions, so it is the owner's. */
function whoOf(route: string): Who {
  if (route === 'POST /purge') return 'owner';
  return route.startsWith('GET ') ? 'reader' : 'user';
}

/** Two URL forms of a session; both lead to the same routes. */
export const SESSION_PATHS: readonly string[] = [
  '/api/agents/{agentId}/sessions/{sessionId}',
  '/api/sessions/{agentId}/{sessionId}',
];

export const ROUTES: readonly RouteRow[] = [
  // Liveness check and static files, which contain no data.
  ...rows('anyone', 'GET /healthz', 'GET /', 'GET /assets/{file}'),
  ...rows('anyone', 'GET /docs', 'GET /docs/docs.js', 'GET /docs/docs.css'),
  ...rows('owner', 'GET /readyz', 'GET /metrics', 'GET /api/stats'),
  ...rows(
    'reader',
    'GET /openapi.json',
    'GET /api/agents',
    'GET /api/models',
    'GET /api/commands',
    'GET /api/search',
  ),
  ...rows('owner', 'GET /api/usage', 'POST /api/sign-in', 'POST /api/sign-out'),
  ...rows('reader', 'GET /api/sessions', 'GET /api/agents/{agentId}/sessions'),
  ...SESSION_PATHS.flatMap((path) =>
    SESSION_ROUTES.map((route) => row(whoOf(route), route.replace(' ', ` ${path}`))),
  ),
  row('user', 'POST /api/agents/{agentId}/chat', { isMessage: true, isStream: true }),
  row('reader', 'GET /api/agents/{agentId}/chat/stream', { isStream: true }),
  row('reader', 'GET /api/agents/{agentId}/chat/status'),
  row('user', 'POST /api/agents/{agentId}/chat/stop'),
  // Messages that wait for a turn find it by its inbox row.
  row('reader', 'POST /mcp', { isStream: true }),
  row('owner', 'POST /api/inbound', { isMessage: true, isStream: true }),
  row('reader', 'GET /api/inbox/{inboxId}'),
  // The chats of all channels.
  ...rows(
    'admin',
    'GET /api/conversations',
    'GET /api/agents/{agentId}/conversations',
    'GET /api/agents/{agentId}/conversations/{channelId}',
  ),
];

const MATCHERS = ROUTES.map((route) => ({
  route,
  matches: new RegExp(`^${route.pattern.replace(/[.]/g, '\\.').replace(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`),
}));

/** @returns the table row of a request, or undefined if there is no such route. */
export function routeOf(method: string, path: string): RouteRow | undefined {
  // HEAD is answered like GET, without the body.
  const wanted = method === 'HEAD' ? 'GET' : method;
  return MATCHERS.find(({ route, matches }) => route.method === wanted && matches.test(path))?.route;
}

/** The parameters of a path, decoded; empty if no route matches. */
export function pathParams(path: string): Readonly<Record<string, string>> {
  const found = MATCHERS.map(({ matches }) => matches.exec(path)?.groups).find(
    (groups) => groups !== undefined,
  );
  return Object.fromEntries(Object.entries(found ?? {}).map(([name, value]) => [name, decoded(value)]));
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // no session has such an id
  }
}

/** Whether the route needs no token. */
export function isForAnyone(method: string, pattern: string): boolean {
  const row = ROUTES.find((route) => route.method === method.toUpperCase() && route.pattern === pattern);
  return row?.who === 'anyone';
}

/** The methods a path accepts; empty if there is no such path. */
export function methodsOf(path: string): string[] {
  return MATCHERS.filter(({ matches }) => matches.test(path)).map(({ route }) => route.method);
}

/** Throws unless this principal may use the route. For others than the owner, a forbidden route looks like a missing one. */
export function decideAccess(
  route: RouteRow | undefined,
  principal: Principal | undefined,
  path: string,
): void {
  const who = route?.who ?? 'owner';
  if (who === 'anyone') return;
  if (principal === undefined) throw failure('UNAUTHORIZED', 'request.noToken');
  if (MAY_USE[principal.kind].includes(who)) return;
  throw failure('NOT_FOUND', 'request.noRoute', { path: path.slice(0, MAX_SHOWN_PATH) });
}
