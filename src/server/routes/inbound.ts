import { z } from 'zod';
import { isOpen } from '../../engine/schedule/item-end.ts';
import { RepriseError } from '../../errors.ts';
import {
  type InboundAnswer,
  type InboundRequest,
  inboundAnswerSchema,
  inboundRequestSchema,
  inboxAnswer,
  inboxAnswerSchema,
} from '../../protocol/chat.ts';
import type { ServerApp, ServerContext } from '../context.ts';
import { addOperation } from '../operation.ts';
import { openStream } from '../sse/open-stream.ts';

const MAX_WAIT_SECONDS = 300;

interface InboundQuery {
  /** Seconds. */
  readonly wait?: number | undefined;
}

/** Routes for channel adapters. */
export function registerInbound(app: ServerApp, context: ServerContext): void {
  const { reprise } = context;

  addOperation<unknown, InboundQuery, InboundRequest>(app, {
    method: 'post',
    paths: ['/api/inbound'],
    id: 'inbound',
    tag: 'channels',
    summary: 'A message of a channel: durable when this answers',
    query: z.object({ wait: z.coerce.number().min(0).max(MAX_WAIT_SECONDS).optional() }),
    headers: z.object({ 'idempotency-key': z.string().optional() }),
    body: inboundRequestSchema,
    needsBody: true,
    answer: {
      status: 202,
      schema: inboundAnswerSchema,
      description:
        'It was taken in. 200 where its end was waited for; events with `Accept: text/event-stream`',
    },
    run: async ({ query: { wait = 0 }, body, c }) => {
      const isOwnKey = c.get('hasOwnKey') || body.messageId === undefined;
      // The channel's message id is a better idempotency key than one generated for this request.
      const key = isOwnKey ? { idempotencyKey: c.get('idempotencyKey') } : {};
      const receive = (): ReturnType<typeof reprise.receive> => reprise.receive({ ...body, ...key });
      if (c.req.header('accept')?.includes('text/event-stream') === true)
        return openStream(c, context, receive);
      const received = await receive();
      const { inboxId, sessionId, fresh, command, ignored } = received;
      if (wait > 0) {
        const { until = context.closing } = c.get('principal') ?? {};
        await endWithin(context, inboxId, wait * 1000, AbortSignal.any([c.req.raw.signal, until]));
      }
      // A message accepted just now is reported as accepted, even if its row has changed already.
      const isJustTaken = wait === 0 && fresh && command === undefined && ignored === undefined;
      const status = isJustTaken
        ? ({ status: 'accepted', sessionId } as const)
        : await reprise.inbox(inboxId);
      const answer: InboundAnswer = { ...received, ...inboxAnswer(inboxId, status) };
      const isOver = wait > 0 && !isOpen({ state: answer.status });
      return c.json(answer, isOver ? 200 : 202);
    },
  });

  addOperation<{ inboxId: string }>(app, {
    method: 'get',
    paths: ['/api/inbox/{inboxId}'],
    id: 'inbox',
    tag: 'channels',
    summary: 'What became of a message',
    params: z.object({ inboxId: z.string() }),
    answer: { schema: inboxAnswerSchema, description: 'Its state, and its answer or error if it has ended' },
    run: async ({ params: { inboxId }, c }) => c.json(inboxAnswer(inboxId, await reprise.inbox(inboxId))),
  });
}

/** Waits until the message has ended. Its row says how it ended. */
async function endWithin(
  { reprise, closing }: ServerContext,
  inboxId: string,
  ms: number,
  gone: AbortSignal,
): Promise<void> {
  const signal = AbortSignal.any([closing, gone, AbortSignal.timeout(ms)]);
  await reprise.ended(inboxId, { signal }).catch((error: unknown) => {
    // Timed out, or the client disconnected.
    if (!(error instanceof RepriseError) || !signal.aborted) throw error;
  });
}
