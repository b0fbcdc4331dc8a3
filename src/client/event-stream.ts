import { RepriseError } from '../errors.ts';
import type { SessionFrame, StreamEvent } from '../protocol/events.ts';
import { OWN_TYPE } from '../protocol/media-type.ts';
import { clientFailure } from './client-failure.ts';
import { type Connection, connectFailed, problemError } from './connection.ts';
import { SseParser } from './sse-parser.ts';

export interface EventStreamOptions {
  readonly connection: Connection;
  readonly signal?: AbortSignal | undefined;
  /** The position to resume from; unset: the start. */
  readonly lastEventId?: string | undefined;
  /** Requests the events. On a reconnect it receives the session and the headers with the last event id. */
  readonly open: (at: { readonly session?: SessionFrame; readonly headers: Headers }) => Promise<Response>;
}

type Headers = Readonly<Record<string, string>>;

const ENDS: ReadonlySet<string> = new Set(['done', 'error', 'idle']);

/** Events of one message or session. Resumes after a lost connection until the end event arrives. */
export class ClientEventStream<E extends { readonly type: string } = StreamEvent>
  implements AsyncIterable<E>
{
  readonly #options: EventStreamOptions;
  #lastEventId: string | undefined;
  #isRead = false;

  constructor(options: EventStreamOptions) {
    this.#options = options;
    this.#lastEventId = options.lastEventId;
  }

  /** With this id another stream can resume after the last event that was read. */
  get lastEventId(): string | undefined {
    return this.#lastEventId;
  }

  /** Can be iterated once: events that were read are not kept. */
  async *[Symbol.asyncIterator](): AsyncGenerator<E, void, undefined> {
    if (this.#isRead) throw clientFailure('INVALID_INPUT', 'client.streamRead');
    this.#isRead = true;
    const { connection, signal, open } = this.#options;
    let session: SessionFrame | undefined;
    for (let failures = 0; ; ) {
      try {
        const headers: Record<string, string> = { Accept: `text/event-stream, ${OWN_TYPE}` };
        if (this.#lastEventId !== undefined) headers['Last-Event-ID'] = this.#lastEventId;
        const response = await open({ ...(session !== undefined && { session }), headers });
        if (!response.ok) throw await problemError(response);
        for await (const { id, event } of this.#read(response)) {
          if (id !== '' && id !== this.#lastEventId) {
            this.#lastEventId = id;
            failures = 0;
          }
          // Every connection repeats this event; pass it on once.
          if (event.type === 'session' && session !== undefined) continue;
          if (isSession(event)) session = event;
          yield event;
          if (ENDS.has(event.type)) return;
        }
        throw clientFailure(
          'CONNECT_FAILED',
          'client.streamEnded',
          { url: response.url },
          { details: { url: response.url } },
        );
      } catch (error) {
        await connection.again(error, ++failures, signal);
      }
    }
  }

  async *#read({ body, url }: Response): AsyncGenerator<{ id: string; event: E }, void, undefined> {
    const reader = body?.getReader();
    if (reader === undefined) return;
    const parser = new SseParser();
    try {
      for (;;) {
        const { done, value } = await this.#unlessSilent(reader, url);
        if (done) return;
        for (const { id, data } of parser.feed(value)) yield { id, event: parseEvent<E>(data, url) };
      }
    } finally {
      await reader.cancel().catch(() => undefined); // already broken
    }
  }

  /** Throws if a connection is silent for too long: a live server sends keep-alive comments. */
  async #unlessSilent(
    reader: ReadableStreamDefaultReader<Uint8Array>,
    url: string,
  ): ReturnType<typeof reader.read> {
    const { signal, connection } = this.#options;
    let stop: () => void = () => undefined;
    const silent = new Promise<never>((_, reject) => {
      const onAbort = (): void => reject(signal?.reason);
      const timer = setTimeout(
        () =>
          reject(
            clientFailure(
              'CONNECT_FAILED',
              'client.streamSilent',
              { url, seconds: connection.silenceMs / 1000 },
              { details: { url } },
            ),
          ),
        connection.silenceMs,
      );
      signal?.addEventListener('abort', onAbort, { once: true });
      stop = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
      };
    });
    try {
      return await Promise.race([reader.read(), silent]);
    } catch (error) {
      signal?.throwIfAborted();
      throw error instanceof RepriseError ? error : connectFailed(url, error);
    } finally {
      stop();
    }
  }
}

function isSession(event: { readonly type: string }): event is SessionFrame {
  return event.type === 'session';
}

function parseEvent<E>(data: string, url: string): E {
  try {
    const event: unknown = JSON.parse(data);
    if (typeof event === 'object' && event !== null && 'type' in event && typeof event.type === 'string')
      return event as E;
  } catch {
    // Thrown below.
  }
  throw clientFailure('CONNECT_FAILED', 'client.badEvent', { url }, { details: { url } });
}
