import type { Reprise } from '../engine/reprise.ts';
import type { Session } from '../engine/session.ts';
import { RepriseError } from '../errors.ts';
import { eventLogs } from '../server/sse/open-stream.ts';
import { EventStream } from '../server/sse/resume.ts';
import { UiChunks } from './ui-chunks.ts';

export interface ChatHandlerOptions {
  readonly reprise: Reprise;
  /**
   * The session of a chat, after the application has checked who asks. The id is chosen by the browser, so make it part
   * of the key of the user: `reprise.session({ user, thread: chatId })`. Undefined: the caller may not chat (401).
   */
  readonly session: (request: Request, chatId: string) => Promise<Session | undefined> | Session | undefined;
  /** What the page shows if a turn fails. Default: the message of the error. */
  readonly onError?: (error: { readonly code: string; readonly error: string }) => string;
}

const HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
  'x-vercel-ai-ui-message-stream': 'v1',
};

/** Longer than any message with its images; a larger body is refused. */
const MAX_BODY_CHARS = 32 * 1024 * 1024;

/**
 * An endpoint for `useChat` of the AI SDK. Mount it for these requests of `DefaultChatTransport`:
 *
 * - `POST <api>`: sends the last message of the chat, or regenerates the last answer, and streams the answer
 * - `GET <api>/<chat id>/stream`: resumes a running answer from its beginning (204 if nothing runs)
 * - `DELETE <api>/<chat id>`: stops the running answer
 *
 * The answer does not depend on the connection: a page that is closed in the middle of it finds it when it returns.
 *
 * @example
 * ```ts
 * import { openReprise } from 'reprise';
 * import { createChatHandler } from 'reprise/ai-sdk';
 *
 * const reprise = await openReprise({ store: 'memory' });
 * const handler = createChatHandler({
 *   reprise,
 *   session: (request, chatId) => reprise.session({ user: 'ada', thread: chatId }),
 * });
 * const message = { id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Hello!' }] };
 * const body = JSON.stringify({ id: 'chat-1', messages: [message], trigger: 'submit-message' });
 * const response = await handler(new Request('http://localhost/api/chat', { method: 'POST', body }));
 * console.log(await response.text());
 * await reprise.close();
 * ```
 */
export function createChatHandler(options: ChatHandlerOptions): (request: Request) => Promise<Response> {
  eventLogs(options.reprise); // record events from now on, so that an answer can be replayed
  return async (request) => {
    try {
      return await answer(request, options);
    } catch (error) {
      if (!(error instanceof RepriseError)) throw error;
      return refusal(error.httpStatus ?? 500, error.code, error.message);
    }
  };
}

async function answer(request: Request, options: ChatHandlerOptions): Promise<Response> {
  if (request.method === 'POST') return send(request, options);
  const [last = '', before = ''] = new URL(request.url).pathname.split('/').reverse();
  if (request.method === 'GET' && last === 'stream')
    return withSession(request, decodeURIComponent(before), options, async (session) => {
      const running = await runningMessage(options.reprise, session);
      if (running === undefined) return new Response(null, { status: 204 });
      return streamOf(options, session, running, request.signal);
    });
  if (request.method === 'DELETE')
    return withSession(request, decodeURIComponent(last), options, async (session) =>
      Response.json(await session.stop()),
    );
  return refusal(
    405,
    'METHOD_NOT_ALLOWED',
    'Use POST, GET <api>/<chat id>/stream or DELETE <api>/<chat id>.',
  );
}

async function withSession(
  request: Request,
  chatId: string,
  options: ChatHandlerOptions,
  work: (session: Session) => Promise<Response>,
): Promise<Response> {
  const session = await options.session(request, chatId);
  return session === undefined ? refusal(401, 'UNAUTHORIZED', 'You may not use this chat.') : work(session);
}

async function send(request: Request, options: ChatHandlerOptions): Promise<Response> {
  const body = await readBody(request);
  if (body === undefined)
    return refusal(400, 'INVALID_INPUT', 'The body must have the id of the chat and its messages.');
  return withSession(request, body.id, options, async (session) => {
    const said = body.messages.findLast(({ role }) => role === 'user');
    const turn =
      body.trigger === 'regenerate-message'
        ? session.sendAgain({})
        : session.send(inputOf(said), {
            source: 'ai-sdk',
            // The browser repeats a message with the same id if it got no answer. It chose the id, so two chats may
            // have the same.
            ...(said?.id !== undefined && { idempotencyKey: `${session.id}:${said.id}` }),
          });
    turn.result.catch(() => undefined); // the stream reports it
    const { inboxId } = await turn.accepted;
    return streamOf(options, session, inboxId, request.signal);
  });
}

interface GivenMessage {
  readonly id?: string;
  readonly role: string;
  readonly parts: readonly Readonly<Record<string, unknown>>[];
}

interface ChatBody {
  readonly id: string;
  readonly messages: readonly GivenMessage[];
  readonly trigger?: string;
}

async function readBody(request: Request): Promise<ChatBody | undefined> {
  const text = await request.text();
  if (text.length > MAX_BODY_CHARS) return undefined;
  try {
    const { id, messages, trigger } = JSON.parse(text) as Partial<ChatBody>;
    if (typeof id !== 'string' || id === '' || !Array.isArray(messages)) return undefined;
    const isWhole = messages.every(
      (message) => typeof message?.role === 'string' && Array.isArray(message.parts),
    );
    return isWhole ? { id, messages, ...(trigger !== undefined && { trigger }) } : undefined;
  } catch {
    return undefined; // no JSON
  }
}

/** Text and images of a message; `send` refuses an empty one. */
function inputOf(message: GivenMessage | undefined): { text: string; images: string[] } {
  const parts = message?.parts ?? [];
  const texts = parts.flatMap(({ type, text }) =>
    type === 'text' && typeof text === 'string' ? [text] : [],
  );
  const images = parts.flatMap(({ type, url }) => (type === 'file' && typeof url === 'string' ? [url] : []));
  return { text: texts.join('\n\n'), images };
}

/** The message that is answered now, or waits for its turn. */
async function runningMessage(reprise: Reprise, { id }: Session): Promise<string | undefined> {
  const open = (await reprise.store.inbox.pending(id)).filter((item) => item.class !== 'command');
  return (open.find(({ state }) => state === 'running') ?? open[0])?.inboxId;
}

/** The answer from its beginning, also if another process runs it. */
function streamOf(
  { reprise, onError }: ChatHandlerOptions,
  { id: sessionId, key: sessionKey }: Session,
  inboxId: string,
  gone: AbortSignal,
): Response {
  const left = new AbortController();
  const source = new EventStream({
    ...{ reprise, logs: eventLogs(reprise), sessionId, sessionKey, inboxId },
    signal: AbortSignal.any([left.signal, gone]),
  });
  const chunks = new UiChunks(inboxId);
  const batches = source.batches();
  const encoder = new TextEncoder();
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value: frames = [] } = await batches.next();
      const read = frames.flatMap(({ event }) =>
        event.type === 'error' && onError !== undefined
          ? chunks.read({ ...event, error: onError(event) })
          : chunks.read(event),
      );
      const lines = read.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`);
      if (done === true) lines.push('data: [DONE]\n\n');
      // An empty chunk asks for the next one.
      controller.enqueue(encoder.encode(lines.join('')));
      if (done === true) controller.close();
    },
    cancel() {
      left.abort();
    },
  });
  return new Response(stream, { headers: HEADERS });
}

function refusal(status: number, code: string, error: string): Response {
  return Response.json({ code, error }, { status });
}
