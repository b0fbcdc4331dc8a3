import type { Context } from 'hono';
import type { Reprise } from '../../engine/reprise.ts';
import type { StreamEvent } from '../../protocol/events.ts';
import type { ServerContext, ServerEnv } from '../context.ts';
import { EventLogs } from './event-logs.ts';
import { type Frame, parseEventId } from './frame.ts';
import { EventStream } from './resume.ts';
import { storedRows } from './stored-rows.ts';
import { type SseSource, sseBody } from './writer.ts';

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

/** An event in the shape that the client expects. @returns `undefined` if that shape has no such event. */
export type ToEvent = (event: StreamEvent) => object | undefined;

const HEADERS: Readonly<Record<string, string>> = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-store, no-transform',
  // Some proxies hold back what is not asked to pass.
  'X-Accel-Buffering': 'no',
};

/**
 * Answers with the events of a message or a session, behind what `Last-Event-ID` says was had already. What has to be
 * done first is done when there is a place for the stream.
 */
export async function openStream(
  c: Context<ServerEnv>,
  context: ServerContext,
  find: () => Promise<StreamTarget>,
  toEvent?: ToEvent,
): Promise<Response> {
  const { reprise, places } = context;
  const leave = places.take();
  try {
    const { sessionId, sessionKey, inboxId } = await find();
    return answerStream(c, context, leave, (signal) => {
      const stream = new EventStream({
        reprise,
        logs: eventLogs(reprise),
        sessionId,
        sessionKey,
        ...(inboxId !== undefined && { inboxId }),
        after: parseEventId(c.req.header('last-event-id')),
        signal,
      });
      return toEvent === undefined ? stream : new ShapedStream(stream, toEvent);
    });
  } catch (error) {
    leave();
    throw error;
  }
}

class ShapedStream implements SseSource {
  readonly #source: SseSource<StreamEvent>;
  readonly #toEvent: ToEvent;

  constructor(source: SseSource<StreamEvent>, toEvent: ToEvent) {
    this.#source = source;
    this.#toEvent = toEvent;
  }

  get lag(): number {
    return this.#source.lag;
  }

  async *batches(): AsyncGenerator<readonly Frame<object>[], void, undefined> {
    for await (const frames of this.#source.batches()) {
      const shaped = frames.flatMap(({ id, event }) => {
        const other = this.#toEvent(event);
        return other === undefined ? [] : [{ id, event: other }];
      });
      if (shaped.length > 0) yield shaped;
    }
  }
}

/** Answers with what is stored in a session from now on, or behind an entry. */
export async function openFollow(
  c: Context<ServerEnv>,
  context: ServerContext,
  find: () => Promise<Pick<StreamTarget, 'sessionId' | 'sessionKey'> & { readonly lastSeq: number }>,
): Promise<Response> {
  const { reprise, places } = context;
  const leave = places.take();
  try {
    const { lastSeq, ...about } = await find();
    const after = parseEventId(c.req.header('last-event-id'))?.seq ?? lastSeq;
    return answerStream(c, context, leave, (signal) => storedRows(reprise.store, about, after, signal));
  } catch (error) {
    leave();
    throw error;
  }
}

function answerStream(
  c: Context<ServerEnv>,
  { limits, closing, logger, metrics, places }: ServerContext,
  leave: () => void,
  open: (signal: AbortSignal) => SseSource,
): Response {
  const over = new AbortController();
  const { until = closing } = c.get('principal') ?? {};
  const signal = AbortSignal.any([over.signal, closing, until]);
  const source = open(signal);
  const requestId = c.get('requestId');
  const count = (): void => metrics.set('reprise_streams', 'Streams that are open.', places.taken);
  metrics.add('reprise_streams_total', 'Streams that were opened.');
  count();
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
    onEnd: () => {
      leave();
      count();
      over.abort();
    },
    onFailure: (err) => logger.error({ requestId, err }, 'a stream broke off'),
  });
  return c.body(body, 200, HEADERS);
}
