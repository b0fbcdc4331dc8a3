import { createHash } from 'node:crypto';
import type { MiddlewareHandler } from 'hono';
import { failure } from '../messages/failure.ts';
import type { ServerEnv } from './context.ts';
import { routeOf } from './security/access.ts';

/**
 * Answers are stored in memory only. After a restart, a retry finds what its key did in the transcript (decision 13);
 * storing each answer would cost a transaction for each mutation.
 */
const MAX_RECORDS = 10_000;
const MAX_BYTES = 32 * 1024 * 1024;
const KEEP_MS = 24 * 60 * 60 * 1000;
/** Headers that are repeated with a stored answer; all others are set for each response. */
const KEPT_HEADERS: readonly string[] = ['content-type', 'etag', 'retry-after', 'allow'];

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: ArrayBuffer;
}

interface Told {
  /** A digest of the whole request. */
  readonly digest: string;
  readonly until: number;
  /** Unset while the first request runs. */
  answer?: Answer;
}

/** Stored answers by idempotency key. */
export class Idempotency {
  readonly #records: Map<string, Told> = new Map();
  readonly #now: () => number;
  #bytes = 0;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** @returns the stored answer, or undefined for the first request with this key; then `end` must follow. */
  begin(key: string, digest: string): Answer | undefined {
    const known = this.#records.get(key);
    if (known !== undefined && known.until > this.#now()) {
      if (known.digest !== digest) throw failure('KEY_REUSED', 'request.keyReused');
      if (known.answer !== undefined) return known.answer;
      throw failure('IN_FLIGHT', 'request.keyInFlight');
    }
    this.#forget(key);
    this.#records.set(key, { digest, until: this.#now() + KEEP_MS });
    return undefined;
  }

  /** Without an answer the key can be used again. */
  end(key: string, answer?: Answer): void {
    const record = this.#records.get(key);
    if (record === undefined) return;
    if (answer === undefined) {
      this.#forget(key);
      return;
    }
    record.answer = answer;
    this.#bytes += answer.body.byteLength;
    for (const [oldest, { answer: told, until }] of this.#records) {
      const isTooMuch = this.#records.size > MAX_RECORDS || this.#bytes > MAX_BYTES || until <= this.#now();
      if (!isTooMuch) break;
      // Never drop a running request: its retry would run beside it.
      if (told !== undefined && oldest !== key) this.#forget(oldest);
    }
  }

  #forget(key: string): void {
    this.#bytes -= this.#records.get(key)?.answer?.body.byteLength ?? 0;
    this.#records.delete(key);
  }
}

/** Answers a repeated request with the stored answer. Reads do not need it, and streams use their inbox rows. */
export function idempotent(answers: Idempotency): MiddlewareHandler<ServerEnv> {
  return async (c, next) => {
    const { method, path, url } = c.req;
    const route = routeOf(method, path);
    const isRead = method === 'GET' || method === 'HEAD';
    const given = c.req.header('idempotency-key');
    if (given !== undefined && !isRead && !isIdempotencyKey(given))
      throw failure('INVALID_INPUT', 'request.badKey', {}, { details: { field: 'Idempotency-Key' } });
    if (isRead || route === undefined || route.isStream === true || !c.get('hasOwnKey')) return next();
    const key = c.get('idempotencyKey');
    const asked = [
      method,
      new URL(url).pathname,
      new URL(url).search,
      c.req.header('if-match') ?? '',
      c.get('bodyText'),
    ];
    const known = answers.begin(key, createHash('sha256').update(JSON.stringify(asked)).digest('hex'));
    if (known !== undefined) {
      const { status, headers, body } = known;
      return c.body(body.slice(0), {
        status: status as 200,
        headers: { ...headers, 'Idempotency-Replayed': 'true' },
      });
    }
    try {
      await next();
      answers.end(key, isFinal(c.res) ? await keep(c.res) : undefined);
    } catch (error) {
      answers.end(key);
      throw error;
    }
    return undefined;
  };
}

/**
 * Whether a retry gets the same answer: after success, or a refusal that depends on the request only. A retry runs
 * again if it may succeed now, or if the outcome is unknown: its effect is then found by the key, or can safely happen
 * twice (decision 13).
 */
function isFinal({ status }: Response): boolean {
  return status < 300 || status === 400 || status === 404 || status === 410 || status === 422;
}

async function keep(response: Response): Promise<Answer> {
  const headers: Record<string, string> = {};
  for (const name of KEPT_HEADERS) {
    const value = response.headers.get(name);
    if (value !== null) headers[name] = value;
  }
  return { status: response.status, headers, body: await response.clone().arrayBuffer() };
}

const KEY = /^[\x21-\x7e]{1,255}$/;

export function isIdempotencyKey(given: string): boolean {
  return KEY.test(given);
}
