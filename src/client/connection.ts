import { ERROR_TABLE, type ErrorCode, RepriseError } from '../errors.ts';
import { isMessage } from '../messages/message.ts';
import { OWN_TYPE } from '../protocol/media-type.ts';
import type { Problem } from '../protocol/problem.ts';
import { clientFailure } from './client-failure.ts';

export interface ClientOptions {
  /** The server's address, such as `http://127.0.0.1:4747`. */
  readonly url: string;
  readonly token?: string;
  /** Default: the global fetch. */
  readonly fetch?: typeof globalThis.fetch;
  /** Maximum number of consecutive retries; 6 by default. */
  readonly retries?: number;
  /** Delay before the first retry; it doubles with each retry, up to five seconds. */
  readonly backoffMs?: number;
  /** For answers other than streams and exports; 30 seconds by default. */
  readonly timeoutMs?: number;
  /** A stream without data and keep-alive comments for this long counts as lost; 45 seconds by default. */
  readonly silenceMs?: number;
}

export interface RequestOptions {
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
  readonly idempotencyKey?: string | undefined;
  /** Infinity disables the timeout. */
  readonly timeoutMs?: number;
}

const RETRIES = 6;
const BACKOFF_MS = 200;
const MAX_BACKOFF_MS = 5000;
const TIMEOUT_MS = 30_000;
const SILENCE_MS = 45_000;

/**
 * Sends requests to one server. Requests that fail on the way are retried with the same idempotency key, so nothing is
 * done twice.
 */
export class Connection {
  readonly retries: number;
  readonly silenceMs: number;
  readonly #url: string;
  readonly #token: string | undefined;
  readonly #fetch: typeof globalThis.fetch;
  readonly #backoffMs: number;
  readonly #timeoutMs: number;

  constructor(options: ClientOptions) {
    const { url, token, retries = RETRIES, backoffMs = BACKOFF_MS } = options;
    if (!/^https?:\/\//.test(url))
      throw clientFailure('INVALID_INPUT', 'client.badUrl', {}, { details: { field: 'url' } });
    this.#url = url.replace(/\/+$/, '');
    this.#token = token;
    this.#fetch = options.fetch ?? globalThis.fetch.bind(globalThis);
    this.retries = retries;
    this.silenceMs = options.silenceMs ?? SILENCE_MS;
    this.#backoffMs = backoffMs;
    this.#timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
  }

  /** The answer as JSON. An error answer is thrown with its code. */
  async json<T>(method: string, path: string, options: RequestOptions = {}): Promise<T> {
    return (await this.#answer(method, path, options, async (response) => (await response.json()) as T))
      .value;
  }

  /** As `json`, with the version (ETag) of the answer. */
  async versioned<T>(method: string, path: string, options: RequestOptions = {}): Promise<Versioned<T>> {
    return this.#answer(method, path, options, async (response) => (await response.json()) as T);
  }

  async text(path: string, options: RequestOptions = {}): Promise<string> {
    return (await this.#answer('GET', path, options, (response) => response.text())).value;
  }

  async bytes(path: string, options: RequestOptions = {}): Promise<Uint8Array<ArrayBuffer>> {
    const read = async (response: Response): Promise<Uint8Array<ArrayBuffer>> =>
      new Uint8Array(await response.arrayBuffer());
    return (await this.#answer('GET', path, options, read)).value;
  }

  /** One attempt. Throws CONNECT_FAILED if no answer arrived. */
  async send(method: string, path: string, options: RequestOptions): Promise<Response> {
    const { query = {}, body, headers = {}, signal, idempotencyKey } = options;
    const url = new URL(this.#url + path);
    for (const [name, value] of Object.entries(query))
      if (value !== undefined) url.searchParams.set(name, String(value));
    try {
      return await this.#fetch(url, {
        method,
        redirect: 'error', // a redirect could send the token to another server
        headers: {
          Accept: `${OWN_TYPE}, application/json`,
          ...(this.#token !== undefined && { Authorization: `Bearer ${this.#token}` }),
          ...(body !== undefined && { 'Content-Type': 'application/json' }),
          ...(idempotencyKey !== undefined && { 'Idempotency-Key': idempotencyKey }),
          ...headers,
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        ...(signal !== undefined && { signal }),
      });
    } catch (cause) {
      throw connectFailed(this.#url, cause);
    }
  }

  /** Waits before the next attempt. Throws the error if it is not retryable or the retries are used up. */
  async again(error: unknown, failures: number, signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    if (!isWorthAnother(error) || failures > this.retries) throw error;
    const { retryAfter } = error.details;
    const doubled = Math.min(MAX_BACKOFF_MS, this.#backoffMs * 2 ** (failures - 1));
    const asked = typeof retryAfter === 'number' ? Math.min(MAX_BACKOFF_MS, retryAfter * 1000) : 0;
    // Jitter, so that the clients of a restarted server do not reconnect all at once.
    await pause(Math.max(asked, doubled * (0.5 + Math.random() / 2)), signal);
  }

  async #answer<T>(
    method: string,
    path: string,
    { signal, timeoutMs = this.#timeoutMs, idempotencyKey, ...options }: RequestOptions,
    read: (response: Response) => Promise<T>,
  ): Promise<Versioned<T>> {
    const key = method === 'GET' ? undefined : (idempotencyKey ?? newKey());
    for (let failures = 0; ; ) {
      try {
        const late = timeoutMs === Number.POSITIVE_INFINITY ? undefined : AbortSignal.timeout(timeoutMs);
        const either =
          signal === undefined || late === undefined ? (signal ?? late) : AbortSignal.any([signal, late]);
        const response = await this.send(method, path, { ...options, signal: either, idempotencyKey: key });
        if (!response.ok) throw await problemError(response);
        const value = await read(response).catch((cause: unknown) => {
          throw connectFailed(this.#url, cause);
        });
        const etag = response.headers.get('etag');
        return { value, ...(etag !== null && { etag }) };
      } catch (error) {
        await this.again(error, ++failures, signal);
      }
    }
  }
}

export interface Versioned<T> {
  readonly value: T;
  readonly etag?: string;
}

/** Converts a problem response to the error that the server had. */
export async function problemError(response: Response): Promise<RepriseError> {
  const text = await response.text().catch(() => '');
  const problem = parseProblem(text);
  const code =
    problem?.code !== undefined && Object.hasOwn(ERROR_TABLE, problem.code) ? problem.code : undefined;
  const known = (code ?? codeFor(response.status)) as ErrorCode;
  const after = Number(response.headers.get('retry-after'));
  const { status } = response;
  const details = { status, ...(after > 0 && { retryAfter: after }) };
  if (problem?.detail === undefined) return clientFailure(known, 'client.badAnswer', { status }, { details });
  return new RepriseError(known, problem.detail, {
    details: { ...(typeof problem.details === 'object' && problem.details), ...details },
    why: isMessage(problem.why) ? problem.why : undefined,
    ...(problem.outcome === 'unknown' && { outcome: 'unknown' }),
  });
}

function parseProblem(text: string): Partial<Problem> | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === 'object' && parsed !== null ? parsed : undefined;
  } catch {
    return undefined; // not from a Reprise server, for example a proxy's error page
  }
}

function codeFor(status: number): ErrorCode {
  if (status === 401) return 'UNAUTHORIZED';
  if (status === 403) return 'FORBIDDEN';
  if (status === 404) return 'NOT_FOUND';
  return status >= 500 ? 'CONNECT_FAILED' : 'INVALID_INPUT';
}

export function connectFailed(url: string, cause: unknown): RepriseError {
  const reason =
    cause instanceof Error ? (cause.cause instanceof Error ? cause.cause.message : cause.message) : '';
  return clientFailure('CONNECT_FAILED', 'client.noAnswer', { url, reason }, { cause, details: { url } });
}

/** A network failure, or an error that the server marks as retryable. */
function isWorthAnother(error: unknown): error is RepriseError {
  if (!(error instanceof RepriseError)) return false;
  const { status } = error.details;
  return error.code === 'CONNECT_FAILED' || error.code === 'IN_FLIGHT' || status === 503 || status === 502;
}

export function newKey(): string {
  if (typeof crypto.randomUUID === 'function') return crypto.randomUUID();
  // `randomUUID` exists only in secure contexts, such as pages loaded over TLS.
  return [...crypto.getRandomValues(new Uint8Array(16))]
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join('');
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
