import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A provider that speaks as slowly as a test wants, for servers in processes of their own. */
export interface PacedProvider extends AsyncDisposable {
  readonly url: string;
  /** The last user message of each call, as they came. */
  readonly asked: readonly string[];
  /** So many more words of every answer, of those that run and those that come. */
  allow(count: number): void;
}

interface Call {
  readonly words: readonly string[];
  readonly response: ServerResponse;
  told: number;
}

/** An answer to "x" is "x0 x1 x2 …". */
export async function openPacedProvider(words: number): Promise<PacedProvider> {
  const asked: string[] = [];
  const calls = new Set<Call>();
  let allowed = 0;
  const tellAll = (): void => {
    for (const call of calls) tell(call, allowed);
  };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { messages } = JSON.parse(Buffer.concat(chunks).toString()) as {
        messages: { role: string; content: string | { text: string }[] }[];
      };
      const content = messages.findLast(({ role }) => role === 'user')?.content ?? '';
      const said = typeof content === 'string' ? content : content.map(({ text }) => text).join('');
      asked.push(said);
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const call = { words: Array.from({ length: words }, (_, i) => `${said}${i} `), response, told: 0 };
      calls.add(call);
      response.on('close', () => calls.delete(call));
      tell(call, allowed);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    asked,
    allow: (count) => {
      allowed += count;
      tellAll();
    },
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function tell(call: Call, allowed: number): void {
  const { words, response } = call;
  for (; call.told < Math.min(allowed, words.length); call.told++)
    response.write(chunk({ delta: { role: 'assistant', content: words[call.told] } }));
  if (call.told < words.length || response.writableEnded) return;
  response.write(chunk({ delta: {}, finish_reason: 'stop' }));
  response.write(`data: ${JSON.stringify({ ...FRAME, choices: [], usage: USAGE })}\n\n`);
  response.end('data: [DONE]\n\n');
}

const FRAME = { id: 'c', object: 'chat.completion.chunk', created: 0, model: 'paced' };
const USAGE = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };

function chunk(choice: object): string {
  return `data: ${JSON.stringify({ ...FRAME, choices: [{ index: 0, finish_reason: null, ...choice }] })}\n\n`;
}
