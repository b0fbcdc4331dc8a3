import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A provider in the format of chat completions that streams one text in pieces, or fails first. */
export interface MarkdownProvider extends AsyncDisposable {
  readonly url: string;
  /** Sends so many more pieces to the call that runs; without a number all of them, and the end. */
  send(count?: number): void;
}

export interface MarkdownProviderOptions {
  readonly text: string;
  /** UTF-16 units in one piece. */
  readonly size?: number;
  /** Calls that are refused as too many, before one is answered. */
  readonly refusals?: number;
}

export async function openMarkdownProvider({
  text,
  size = 1,
  refusals = 0,
}: MarkdownProviderOptions): Promise<MarkdownProvider> {
  const pieces = Array.from({ length: Math.ceil(text.length / size) }, (_, i) =>
    text.slice(i * size, (i + 1) * size),
  );
  let left = refusals;
  let allowed = 0;
  let sent = 0;
  let call: ServerResponse | undefined;
  const go = (): void => {
    for (; call !== undefined && sent < Math.min(allowed, pieces.length); sent++)
      call.write(frame({ delta: { content: pieces[sent] } }));
    if (call === undefined || sent < pieces.length || allowed < Number.POSITIVE_INFINITY) return;
    call.write(frame({ delta: {}, finish_reason: 'stop' }));
    call.end('data: [DONE]\n\n');
    call = undefined;
  };
  const server = createServer((request, response) => {
    request.resume();
    if (request.method === 'GET') {
      response.writeHead(404).end();
      return;
    }
    if (left-- > 0) {
      response.writeHead(429, { 'content-type': 'application/json', 'retry-after': '2' });
      response.end(JSON.stringify({ error: { message: 'slow down', type: 'rate_limit_error' } }));
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.on('close', () => {
      call = undefined;
    });
    call = response;
    sent = 0;
    go();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    send: (count = Number.POSITIVE_INFINITY) => {
      allowed += count;
      go();
    },
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function frame(choice: object): string {
  const whole = { id: 'c', object: 'chat.completion.chunk', created: 0, model: 'm' };
  return `data: ${JSON.stringify({ ...whole, choices: [{ index: 0, finish_reason: null, ...choice }] })}\n\n`;
}
