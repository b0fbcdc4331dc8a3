import { type SessionParams, sessionParams } from '../../protocol/ids.ts';
import { historyPageSchema, historyQuery } from '../../protocol/records.ts';
import { sessionAnswerSchema, sessionPatchSchema, sessionView } from '../../protocol/sessions.ts';
import { purgeAnswer } from '../../protocol/steps.ts';
import { SESSION_PATHS } from '../access.ts';
import type { ServerApp, ServerContext } from '../context.ts';
import { checkIfMatch, etagOf, matches, Turnstile } from '../etag.ts';
import { findRecord, findSession, type SessionRecord } from '../find-session.ts';
import { addOperation } from '../operation.ts';
import { readPage } from '../read-page.ts';

const tag = 'sessions';

/** One session: what it holds, its settings, its end and its return. */
export function registerSession(app: ServerApp, context: ServerContext): void {
  const { store } = context.reprise;
  const turnstile = new Turnstile();
  const on = (suffix = ''): string[] => SESSION_PATHS.map((path) => `${path}${suffix}`);
  const answer = (record: SessionRecord): Response => {
    const session = sessionView(record);
    return Response.json({ session }, { headers: { ETag: etagOf(session) } });
  };
  /** Looked at and written by one at a time. */
  const change = (
    params: SessionParams,
    c: Parameters<typeof checkIfMatch>[0],
    work: () => Promise<SessionRecord>,
  ): Promise<Response> =>
    turnstile.run(params.sessionId, async () => {
      checkIfMatch(c, await findRecord(context, params));
      return answer(await work());
    });

  addOperation(app, {
    method: 'get',
    paths: on(),
    id: 'getSession',
    tag,
    summary: 'A session and a page of its history, oldest first; without after or before the newest page',
    params: sessionParams,
    query: historyQuery,
    answer: { schema: historyPageSchema, description: 'The page; originals of compacted parts included' },
    run: async ({ params, query, c }) => {
      const record = await findRecord(context, params);
      const etag = etagOf(record);
      const seen = c.req.header('if-none-match');
      if (seen !== undefined && matches(seen, etag)) return c.body(null, 304, { ETag: etag });
      return c.json(await readPage(store, record, query), 200, { ETag: etag });
    },
  });
  addOperation(app, {
    method: 'patch',
    paths: on(),
    id: 'patchSession',
    tag,
    summary: 'Title and settings; null takes one back',
    params: sessionParams,
    body: sessionPatchSchema,
    needsBody: true,
    answer: { schema: sessionAnswerSchema, description: 'The session as it is now' },
    run: ({ params, body, c }) =>
      change(params, c, async () => (await findSession(context, params)).patch(body)),
  });
  addOperation(app, {
    method: 'delete',
    paths: on(),
    id: 'deleteSession',
    tag,
    summary: 'Into the trash: stops its turn, cancels what waits, frees its key',
    params: sessionParams,
    answer: { schema: sessionAnswerSchema, description: 'The session as it is now' },
    run: ({ params, c }) => change(params, c, () => store.delete(params.sessionId)),
  });
  addOperation(app, {
    method: 'post',
    paths: on('/restore'),
    id: 'restoreSession',
    tag,
    summary: 'Back from the trash',
    params: sessionParams,
    answer: { schema: sessionAnswerSchema, description: 'The session as it is now' },
    run: ({ params, c }) => change(params, c, () => store.restore(params.sessionId)),
  });
  addOperation(app, {
    method: 'post',
    paths: on('/purge'),
    id: 'purgeSession',
    tag,
    summary: 'Removes the bytes of a session in the trash for good',
    params: sessionParams,
    answer: { schema: purgeAnswer, description: 'It is gone' },
    run: ({ params, c }) =>
      turnstile.run(params.sessionId, async () => {
        checkIfMatch(c, await findRecord(context, params));
        await store.purge(params.sessionId);
        return c.json({ id: params.sessionId, purged: true });
      }),
  });
}
