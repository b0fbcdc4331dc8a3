import { type Agent, request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { connect } from 'node:net';
import { Reprise, type RepriseOptions } from '../../../src/engine/reprise.ts';
import { createOfflineModel } from '../../../src/models/offline/offline-model.ts';
import { serve } from '../../../src/server/serve.ts';
import type { Logger, ServerConfig } from '../../../src/server/server-config.ts';
import { openMemoryStore } from '../../../src/store/memory/open.ts';

export const TOKEN = 'a-token-that-tests-send-4711';

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** Undefined where the answer is no JSON; the types say what a test expects. */
  readonly json: Told;
}

export interface Row {
  readonly id: string;
  readonly [name: string]: unknown;
}

export interface Told {
  readonly code: string;
  readonly error: string;
  readonly details: Readonly<Record<string, unknown>>;
  readonly session: Row;
  readonly data: readonly Row[];
  readonly hasMore: boolean;
  readonly firstId: string | null;
  readonly lastId: string | null;
  readonly cursor: string | null;
  readonly [name: string]: unknown;
}

export interface Ask {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** As JSON; a string is sent as it is. */
  readonly body?: unknown;
  /** Null: none. */
  readonly token?: string | null;
  /** Unset: a new connection, closed with the answer. */
  readonly agent?: Agent;
  /** Where the server is reached; unset: 127.0.0.1. */
  readonly host?: string;
}

export interface TestServer extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly reprise: Reprise;
  readonly logs: { readonly level: string; readonly fields: object; readonly message: string }[];
  ask(path: string, options?: Ask): Promise<Answer>;
  close(): Promise<void>;
}

/** A real server on loopback, with an engine that needs no network. */
export async function startServer(
  config: ServerConfig = {},
  engine: Partial<RepriseOptions> = {},
): Promise<TestServer> {
  const store = engine.store ?? (await openMemoryStore({}));
  const reprise = new Reprise({
    model: createOfflineModel(),
    compaction: { background: false },
    ...engine,
    store,
  });
  const logs: TestServer['logs'] = [];
  const log =
    (level: string) =>
    (fields: object, message: string): void => {
      logs.push({ level, fields, message });
    };
  const logger: Logger = { info: log('info'), warn: log('warn'), error: log('error') };
  const served = await serve({
    reprise,
    config: { port: 0, token: TOKEN, ...config },
    logger,
    version: '9.9.9',
  });
  const port = Number(new URL(served.url).port);
  return {
    url: served.url,
    port,
    reprise,
    logs,
    ask: (path, options) => ask(port, path, options),
    close: () => served.close(),
    [Symbol.asyncDispose]: async () => {
      await served.close();
      await reprise[Symbol.asyncDispose]();
    },
  };
}

/** The path goes out as it is written here: nothing is normalised on the way. */
export function ask(
  port: number,
  path: string,
  { method = 'GET', headers = {}, body, token = TOKEN, agent, host = '127.0.0.1' }: Ask = {},
): Promise<Answer> {
  const text = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      {
        host,
        port,
        path,
        method,
        agent: agent ?? false,
        headers: {
          ...(token !== null && { Authorization: `Bearer ${token}` }),
          ...(text !== undefined && {
            'Content-Type': 'application/json',
            'Content-Length': String(Buffer.byteLength(text)),
          }),
          ...headers,
        },
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject); // cut off in the middle
        response.on('end', () => resolve(new HttpAnswer(response.statusCode ?? 0, response.headers, chunks)));
      },
    );
    request.on('error', reject);
    request.end(text);
  });
}

/** Read as far as the caller asks: one that only counts answers does not pay for their content. */
class HttpAnswer implements Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly #chunks: readonly Buffer[];
  #json: Told | undefined;

  constructor(status: number, headers: IncomingHttpHeaders, chunks: readonly Buffer[]) {
    this.status = status;
    this.headers = headers;
    this.#chunks = chunks;
  }

  get text(): string {
    return Buffer.concat(this.#chunks).toString();
  }

  get json(): Told {
    const isJson = /[/+]json/.test(this.headers['content-type'] ?? '') && this.#chunks.length > 0;
    this.#json ??= isJson ? (JSON.parse(this.text) as Told) : undefined;
    return this.#json as Told;
  }
}

/** Bytes as they are, and whatever comes back until the other side closes. */
export function raw(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text));
    let said = '';
    socket.on('data', (chunk) => {
      said += chunk.toString('latin1');
    });
    socket.on('close', () => resolve(said));
    // Answered and then cut off while something of it was still unread: the answer counts.
    socket.on('error', (error) => (said === '' ? reject(error) : undefined));
  });
}

/** A session with so many turns. */
export async function talk(
  reprise: Reprise,
  turns: readonly string[],
  key = 'agent:main:main',
): Promise<string> {
  const session = await reprise.session(key);
  for (const text of turns) await session.send(text).result;
  return session.id;
}
