import { z } from 'zod';
import { turnNamed } from '../../engine/commands/report.ts';
import { readHistory, wholeParts } from '../../engine/history/read-history.ts';
import { followEventSchema } from '../../protocol/follow.ts';
import { agentIdSchema, type SessionParams, sessionIdSchema, sessionParams } from '../../protocol/ids.ts';
import { pageOf } from '../../protocol/page.ts';
import {
  type BlobParams,
  blobName,
  contextAnswer,
  type ExplainParams,
  explainAnswer,
  exportQuery,
  pinsAnswer,
  totalsAnswer,
} from '../../protocol/steps.ts';
import { treeNodes, treeQuery, treeSchema } from '../../protocol/tree.ts';
import type { ServerApp, ServerContext } from '../context.ts';
import { openDownload } from '../download.ts';
import { findRecord, findSession, type Session } from '../find-session.ts';
import { addOperation } from '../operation.ts';
import { SESSION_PATHS } from '../security/access.ts';
import { openFollow } from '../sse/open-stream.ts';

const explainParams: z.ZodType<ExplainParams> = z.object({
  agentId: agentIdSchema,
  sessionId: sessionIdSchema,
  turnId: z
    .string()
    .min(1)
    .max(256)
    .meta({ description: 'A turn id or the start of one, last, or a number: turns are counted from 1' }),
});

const blobParams: z.ZodType<BlobParams> = z.object({
  agentId: agentIdSchema,
  sessionId: sessionIdSchema,
  blob: blobName,
});

/** Routes that read a session's data other than its history. */
export function registerSessionLooks(app: ServerApp, context: ServerContext): void {
  const tag = 'looks';
  const on = (name: string): string[] => SESSION_PATHS.map((path) => `${path}/${name}`);
  const look = (
    name: string,
    id: string,
    summary: string,
    schema: z.ZodType,
    work: (session: Session) => Promise<unknown>,
  ): void =>
    addOperation<SessionParams, unknown, unknown>(app, {
      method: 'get',
      paths: on(name),
      id,
      tag,
      summary,
      params: sessionParams,
      answer: { schema, description: summary },
      run: async ({ params, c }) => c.json((await work(await findSession(context, params))) as object),
    });

  look('context', 'getContext', 'How full the context is, and of what', contextAnswer, (session) =>
    session.context(),
  );
  look('totals', 'getTotals', 'Tokens and cost of all turns', totalsAnswer, (session) => session.totals());
  look('pins', 'getPins', 'What is kept word for word', pinsAnswer, async (session) => ({
    pins: await session.pins(),
  }));
  addOperation(app, {
    method: 'get',
    paths: on('tree'),
    id: 'getTree',
    tag,
    summary: 'All branches: the newest entries, oldest first, with what each hangs on',
    params: sessionParams,
    query: treeQuery,
    answer: { schema: treeSchema, description: 'The tree' },
    run: async ({ params, query: { limit }, c }) => {
      const { id } = await findRecord(context, params);
      const { nodes, leaf } = treeNodes(await readHistory(context.reprise.store, id));
      return c.json({ ...pageOf(nodes.slice(-limit), nodes.length > limit), leaf });
    },
  });
  addOperation(app, {
    method: 'get',
    paths: on('blobs/{blob}'),
    id: 'getBlob',
    tag,
    summary: 'The bytes of an image or a tool text that was too large for its line',
    params: blobParams,
    // A media type that no browser renders; the content block that refers to the blob contains the real one.
    answer: { type: 'application/octet-stream', description: 'The bytes' },
    run: async ({ params: { blob, ...params }, c }) => {
      const { id } = await findRecord(context, params);
      const bytes = await context.reprise.store.blob(id, blob);
      return c.body(new Uint8Array(bytes), 200, {
        'Content-Type': 'application/octet-stream',
        'Content-Disposition': 'attachment',
      });
    },
  });
  addOperation(app, {
    method: 'get',
    paths: on('export'),
    id: 'exportSession',
    tag,
    summary:
      'All lines of the transcript with their seals, including images and large texts that are stored as blobs',
    params: sessionParams,
    query: exportQuery,
    answer: { type: 'application/x-ndjson', description: 'The transcript' },
    run: async ({ params, query, c }) => {
      const record = await findRecord(context, params);
      const { id } = record;
      // Before the first part there is no body to cancel, so a client that disconnects is noticed by the request's
      // signal.
      const { signal } = c.req.raw;
      const parts = wholeParts(context.reprise.store, record, { ...query, signal });
      const body = await openDownload(c, context, parts);
      return c.body(body, 200, {
        'Content-Type': 'application/x-ndjson',
        'Content-Disposition': `attachment; filename="${id}.jsonl"`,
      });
    },
  });
  addOperation(app, {
    method: 'get',
    paths: on('follow'),
    id: 'followSession',
    tag,
    summary: 'What is stored in a session from now on, or behind Last-Event-ID; it does not end by itself',
    params: sessionParams,
    headers: z.object({ 'last-event-id': z.string().optional() }),
    answer: {
      type: 'text/event-stream',
      schema: followEventSchema,
      description: '`session`, then a `row` for each entry of any branch',
    },
    run: ({ params, c }) =>
      openFollow(c, context, async () => {
        const { id: sessionId, sessionKey, lastSeq } = await findRecord(context, params);
        return { sessionId, sessionKey, lastSeq };
      }),
  });
  addOperation(app, {
    method: 'get',
    paths: on('explain/{turnId}'),
    id: 'explainTurn',
    tag,
    summary: 'What the model was sent in a turn, and why',
    params: explainParams,
    answer: { schema: explainAnswer, description: 'The calls of the turn with their requests' },
    run: async ({ params: { turnId, ...params }, c }) => {
      const session = await findSession(context, params);
      const named = await turnNamed(session, turnId === 'last' ? '' : turnId);
      return c.json((await session.explain(named)) as unknown as object);
    },
  });
}
