import type { Context, MiddlewareHandler } from 'hono';
import { RepriseError } from '../../errors.ts';
import { failure } from '../../messages/failure.ts';
import type { Principal, ServerContext, ServerEnv } from '../context.ts';
import { pathParams } from './access.ts';

type Ids = Readonly<Record<string, unknown>>;

/**
 * The only module that decides who may use a session. The owner uses all, a user those that belong to it, a reader
 * reads those of its user. Every request passes here, so a new route with a session or a message in its path, query or
 * body is covered without code of its own. A session of another user is refused like one that does not exist.
 */
export function ownSessionsOnly({ reprise }: Pick<ServerContext, 'reprise'>): MiddlewareHandler<ServerEnv> {
  return async (c, next) => {
    const user = userOf(c);
    if (user === undefined) return next();
    for (const { sessionId, inboxId } of await namedIds(c)) {
      if (typeof sessionId === 'string') await assertOwn(reprise, sessionId, user);
      if (typeof inboxId === 'string') {
        const item = await unlessMissing(reprise.store.inbox.get(inboxId));
        if (item === undefined || !(await isOwn(reprise, item.sessionId, user)))
          throw failure('NOT_FOUND', 'inbox.missing', { inboxId }, { details: { inboxId } });
      }
    }
    return next();
  };
}

/** The user whose sessions the request may use; undefined for the owner, who may use all. */
export function userOf(c: Context<ServerEnv>): string | undefined {
  const principal: Principal | undefined = c.get('principal');
  return principal?.kind === 'owner' ? undefined : principal?.user;
}

/** Where a request can name a session or a message: its path, its query, and the top level of its body. */
async function namedIds(c: Context<ServerEnv>): Promise<readonly Ids[]> {
  const query = new URL(c.req.url).searchParams;
  const named = ['sessionId', 'inboxId'].flatMap((name) =>
    query.getAll(name).map((value) => ({ [name]: value })),
  );
  return [pathParams(c.req.path), ...named, bodyOf(c.get('bodyText'))];
}

function bodyOf(text: string | undefined): Ids {
  try {
    const body: unknown = JSON.parse(text ?? '');
    return typeof body === 'object' && body !== null ? (body as Ids) : {};
  } catch {
    return {}; // no body, or one that its route refuses
  }
}

async function assertOwn(reprise: ServerContext['reprise'], id: string, user: string): Promise<void> {
  if (await isOwn(reprise, id, user)) return;
  throw failure('SESSION_NOT_FOUND', 'session.unknown', { id }, { details: { id } });
}

/**
 * A missing session is not left to its route: the route may check other parts of the request first, and its answer
 * would differ from that for a session of another user.
 */
async function isOwn({ store }: ServerContext['reprise'], id: string, user: string): Promise<boolean> {
  const record = await unlessMissing(store.get(id));
  return record?.owner === user;
}

async function unlessMissing<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof RepriseError && (error.httpStatus ?? 500) < 500) return undefined;
    throw error;
  }
}
