import { Reprise, type RepriseOptions } from '../../../src/engine/reprise.ts';
import type { Model } from '../../../src/models/model.ts';
import type { StreamEvent } from '../../../src/protocol/events.ts';
import { serve } from '../../../src/server/serve.ts';
import type { ServerConfig } from '../../../src/server/server-config.ts';
import { openMemoryStore } from '../../../src/store/memory/open.ts';

export const TOKEN = 'a-token-for-tests-that-is-long-enough';

export interface OpenedServer extends AsyncDisposable {
  readonly reprise: Reprise;
  readonly url: string;
  /** With the token, on this server. */
  request(path: string, init?: RequestInit): Promise<Response>;
  chat(body: object, headers?: Record<string, string>): Promise<Response>;
}

export const QUIET = { info: () => undefined, warn: () => undefined, error: () => undefined };

/** A real server on loopback, with an engine on a memory store by default. */
export async function openServer(
  model: Model,
  options: Partial<RepriseOptions> = {},
  config: Partial<ServerConfig> = {},
): Promise<OpenedServer> {
  const store = options.store ?? (await openMemoryStore({}));
  const reprise = new Reprise({ compaction: { background: false }, ...options, store, model });
  const served = await serve({ reprise, config: { port: 0, token: TOKEN, ...config }, logger: QUIET });
  const request = (path: string, { headers, ...init }: RequestInit = {}): Promise<Response> =>
    fetch(served.url + path, { ...init, headers: { authorization: `Bearer ${TOKEN}`, ...headers } });
  return {
    reprise,
    url: served.url,
    request,
    chat: (body, headers = {}) =>
      request('/api/agents/main/chat', {
        method: 'POST',
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json', ...headers },
      }),
    [Symbol.asyncDispose]: async () => {
      await served.close();
      await reprise[Symbol.asyncDispose]();
    },
  };
}

export interface RawFrame {
  readonly id: string;
  readonly event: StreamEvent;
}

/** Reads frames by the letter of the format, and nothing more lenient than that: any other frame fails. */
export async function* frames(response: Response): AsyncGenerator<RawFrame, void, undefined> {
  if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`);
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    rest += decoder.decode(chunk, { stream: true });
    const blocks = rest.split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      if (block === ':') continue;
      const [, id = '', data = ''] = /^id: (\d+\.\d+)\ndata: (\{[^\n\r]*\})$/.exec(block) ?? [];
      if (data === '') throw new Error(`no frame: ${JSON.stringify(block)}`);
      yield { id, event: JSON.parse(data) as StreamEvent };
    }
  }
  if (rest !== '') throw new Error(`cut off: ${JSON.stringify(rest)}`);
}

export async function allFrames(response: Response | Promise<Response>): Promise<RawFrame[]> {
  const told: RawFrame[] = [];
  for await (const frame of frames(await response)) told.push(frame);
  return told;
}

export async function allEvents(response: Response | Promise<Response>): Promise<StreamEvent[]> {
  return (await allFrames(response)).map(({ event }) => event);
}

/** The answer as a client has it that does what events say. */
export function textOf(events: readonly StreamEvent[]): string {
  let text = '';
  for (const event of events) {
    if (event.type === 'text_delta') text += event.text;
    if (event.type === 'interrupted') text = event.text;
  }
  return text;
}

/** A promise that other code resolves. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { opened: promise, open: resolve };
}
