import type { Context } from 'hono';
import type { Reprise } from '../../engine/reprise.ts';
import type { ServerContext, ServerEnv } from '../context.ts';
import { EventLogs } from './event-logs.ts';
import { parseEventId } from './frame.ts';
import { EventStream } from './resume.ts';
import { sseBody } from './writer.ts';

/** One for each engine, however many apps are made of it; it lives as long as the engine does. */
const logs: WeakMap<Reprise, EventLogs> = new WeakMap();

export function eventLogs(reprise: Reprise): EventLogs {
  const known = logs.get(reprise) ?? new EventLogs(reprise);
  logs.set(reprise, known);
  return known;
}

export interface StreamTarget {
  readonly sessionId: string;
  readonly sessionKey: string;
  readonly inboxId?: string | undefined;
}

const HEADERS: Readonly<Record<string, string>> = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-store, no-transform',
  // Some proxies hold back what is not asked to pass.
  'X-Accel-Buffering': 'no',
};

/** Answers with the events of a message or a session, behind what `Last-Event-ID` says was had already. */
export function openStream(
  c: Context<ServerEnv>,
  { reprise, limits, closing, logger, metrics }: ServerContext,
  { sessionId, sessionKey, inboxId }: StreamTarget,
): Response {
  const over = new AbortController();
  const signal = AbortSignal.any([over.signal, closing]);
  const source = new EventStream({
    reprise,
    logs: eventLogs(reprise),
    sessionId,
    sessionKey,
    ...(inboxId !== undefined && { inboxId }),
    after: parseEventId(c.req.header('last-event-id')),
    signal,
  });
  const requestId = c.get('requestId');
  metrics.add('reprise_streams_total', 'Streams that were opened.');
  const body = sseBody({
    source,
    keepAliveMs: limits.streamKeepAliveMs,
    maxLag: limits.streamBufferBytes,
    signal,
    cut: () => {
      metrics.add(
        'reprise_streams_cut_total',
        'Streams that were cut off because their client did not read.',
      );
      c.env?.outgoing?.destroy();
    },
    onEnd: () => over.abort(),
    onFailure: (err) => logger.error({ requestId, err }, 'a stream broke off'),
  });
  return c.body(body, 200, HEADERS);
}
