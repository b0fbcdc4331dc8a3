import type { z } from 'zod';
import { failure } from '../../messages/failure.ts';
import { type SessionParams, sessionParams } from '../../protocol/ids.ts';
import { historyPageSchema, historyQuery } from '../../protocol/records.ts';
import { sessionAnswerSchema, sessionPatchSchema, sessionView } from '../../protocol/sessions.ts';
import { purgeAnswer, purgeQuery } from '../../protocol/steps.ts';
import {
  zyhiveDoneSchema,
  zyhiveHistorySchema,
  zyhiveSession,
  zyhiveSessionSchema,
} from '../../protocol/zyhive.ts';
import type { ServerApp, ServerContext } from '../context.ts';
import { type Condition, etagOf, ifMatching, matches } from '../etag.ts';
import { findRecord, findSession, type SessionRecord } from '../find-session.ts';
import { addOperation, type OperationInput } from '../operation.ts';
import { readPage } from '../read-page.ts';
import { SESSION_PATHS } from '../security/access.ts';
import { userOf } from '../security/ownership.ts';
import { answersAsZyhive, readZyhiveHistory } from '../zyhive.ts';

const tag = 'sessions';

/** Other settings choose models, prompts and limits: they are the owner's. */
const USER_FIELDS: ReadonlySet<string> = new Set(['title', 'label', 'archived']);

function refuseOwnerFields(body: object): void {
  const field = Object.keys(body).find((name) => !USER_FIELDS.has(name));
  if (field !== undefined)
    throw failure('FORBIDDEN', 'request.ownerField', { field }, { details: { field } });
}

type PatchInput = Pick<
  OperationInput<SessionParams, unknown, z.infer<typeof sessionPatchSchema>>,
  'params' | 'body' | 'c'
>;

/** One session: what it holds, its settings, its end and its return. */
export function registerSession(app: ServerApp, context: ServerContext): void {
  const { store } = context.reprise;
  const isUsed = answersAsZyhive(context);
  const on = (suffix = ''): string[] => SESSION_PATHS.map((path) => `${path}${suffix}`);
  const answer = (record: SessionRecord): Response => {
    const session = sessionView(record);
    return Response.json({ session }, { headers: { ETag: etagOf(session) } });
  };
  const change = <T>(
    params: SessionParams,
    c: Parameters<typeof ifMatching>[0],
    work: (condition: Condition<SessionRecord>) => Promise<T>,
  ): Promise<T> => ifMatching(c, () => findRecord(context, params), work);

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
    otherShape: {
      schema: zyhiveHistorySchema,
      isUsed,
      run: async (input) => input.c.json(await readZyhiveHistory(context, input)),
    },
  });
  const patch = async ({ params, body, c }: PatchInput): Promise<SessionRecord> => {
    if (userOf(c) !== undefined) refuseOwnerFields(body);
    return change(params, c, async (condition) =>
      (await findSession(context, params)).patch(body, condition),
    );
  };
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
    run: async (input) => answer(await patch(input)),
    otherShape: {
      schema: zyhiveSessionSchema,
      isUsed,
      run: async (input) => input.c.json(zyhiveSession(await patch(input))),
    },
  });
  const remove = ({ params, c }: Omit<PatchInput, 'body'>): Promise<SessionRecord> =>
    change(params, c, (condition) => store.delete(params.sessionId, condition));
  addOperation(app, {
    method: 'delete',
    paths: on(),
    id: 'deleteSession',
    tag,
    summary: 'Into the trash: stops its turn, cancels what waits, frees its key',
    params: sessionParams,
    answer: { schema: sessionAnswerSchema, description: 'The session as it is now' },
    run: async (input) => answer(await remove(input)),
    otherShape: {
      schema: zyhiveDoneSchema,
      isUsed,
      run: async (input) => {
        await remove(input);
        return input.c.json({ ok: true });
      },
    },
  });
  addOperation(app, {
    method: 'post',
    paths: on('/restore'),
    id: 'restoreSession',
    tag,
    summary: 'Back from the trash',
    params: sessionParams,
    answer: { schema: sessionAnswerSchema, description: 'The session as it is now' },
    run: async ({ params, c }) =>
      answer(await change(params, c, (condition) => store.restore(params.sessionId, condition))),
  });
  addOperation(app, {
    method: 'post',
    paths: on('/purge'),
    id: 'purgeSession',
    tag,
    summary: 'Removes the text of a session in the trash for good, and names the copies of it elsewhere',
    params: sessionParams,
    query: purgeQuery,
    answer: { schema: purgeAnswer, description: 'It is gone' },
    run: async ({ params, query, c }) => {
      const withCopies = query.withCopies === 'true';
      const keepChannelLog = query.keepChannelLog === 'true';
      const { sessionId: id, ...report } = await change(params, c, (condition) =>
        context.reprise.purge(params.sessionId, { ...condition, withCopies, keepChannelLog }),
      );
      return c.json({ id, purged: true, ...report });
    },
  });
}
