import { type Message, message } from '../../messages/message.ts';
import { quoted } from '../../messages/quoted.ts';
import { isObject, type JsonObject } from '../../transcript/json.ts';
import type { ProviderFailure } from '../model-error.ts';
import type { OverflowNumbers } from '../overflow.ts';
import { REDIRECT_REFUSED } from './same-origin-fetch.ts';

/** Names of broken connections, as Node and its fetch report them. */
const BROKEN: ReadonlySet<string> = new Set([
  'ECONNRESET',
  'ECONNREFUSED',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'ENETUNREACH',
  'EHOSTUNREACH',
  'EAI_AGAIN',
  'UND_ERR_SOCKET',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
]);

/** Refusals by the SDK itself, with the status that a provider would have sent. */
const OWN_REFUSALS: Readonly<Record<string, number>> = {
  AI_LoadAPIKeyError: 401,
  AI_NoSuchModelError: 404,
  AI_NoSuchProviderError: 404,
};

/**
 * Reads an error. Errors arrive as API call errors with a body, as error events of a stream, as plain objects, and as
 * anything a custom fetch throws. They are read by their fields, because every provider package has its own copy of
 * the classes.
 */
export function readFailure(error: unknown): ProviderFailure {
  const fields = asObject(error);
  const body = parseBody(fields['responseBody']);
  const said = errorObject(body) ?? errorObject(fields['data']) ?? {};
  const codes = [said['code'], said['type'], said['status'], fields['code'], fields['type']];
  const name = text(fields['name']) ?? '';
  const status = OWN_REFUSALS[name] ?? statusOf(fields['statusCode']) ?? codes.map(statusOf).find(Boolean);
  return {
    message: text(said['message']) ?? text(body) ?? text(fields['message']) ?? String(error),
    status,
    codes: codes.flatMap((code) => text(code) ?? []).filter((code) => !/^\d+$/.test(code)),
    headers: headersOf(fields['responseHeaders']),
    requestId: text(asObject(body)['request_id']),
    emptyBody: typeof fields['responseBody'] === 'string' && fields['responseBody'].trim() === '',
    // A stream without an end event is broken, however cleanly the socket was closed.
    broken: status === undefined && (name === 'AI_InvalidResponseDataError' || isBroken(error)),
    overflow: overflowNumbers(said),
    why: redirectOf(said),
    cause: error,
  };
}

/** The redirect that `sameOriginFetch` refused. */
function redirectOf({ type, params }: JsonObject): Message | undefined {
  if (type !== REDIRECT_REFUSED || !isObject(params)) return undefined;
  const { from, to, status } = params;
  if (typeof from !== 'string' || typeof status !== 'number') return undefined;
  return message('model.redirect', {
    from: quoted(from),
    to: typeof to === 'string' ? quoted(to) : null,
    status,
  });
}

function isBroken(error: unknown): boolean {
  let current: unknown = error;
  for (let depth = 0; depth < 10 && typeof current === 'object' && current !== null; depth++) {
    const { code, message, cause } = current as { code?: unknown; message?: unknown; cause?: unknown };
    if (typeof code === 'string' && BROKEN.has(code)) return true;
    // The message of Node's fetch for a body that stopped midway, with or without a cause.
    if (message === 'terminated') return true;
    current = cause;
  }
  return false;
}

function parseBody(body: unknown): unknown {
  if (typeof body !== 'string' || body.trim() === '') return undefined;
  try {
    return JSON.parse(body);
  } catch {
    // Expected: proxies answer in HTML or plain text, and that text is then the message.
    return body;
  }
}

/** `{error: {…}}` of nearly all providers, `{error: "…"}` of Ollama, `{message, …}` of Bedrock and Mistral. */
function errorObject(value: unknown): JsonObject | undefined {
  // Gemini wraps its error in a list.
  const first: unknown = Array.isArray(value) ? value[0] : value;
  if (!isObject(first)) return undefined;
  const { error } = first;
  if (isObject(error)) return error;
  if (typeof error === 'string') return { message: error };
  return typeof first['message'] === 'string' ? first : undefined;
}

/** llama.cpp reports the numbers itself. */
function overflowNumbers({ n_ctx, n_prompt_tokens }: JsonObject): OverflowNumbers {
  return {
    ...(typeof n_ctx === 'number' && { limit: n_ctx }),
    ...(typeof n_prompt_tokens === 'number' && { actual: n_prompt_tokens }),
  };
}

/** Some servers put the status into the code. A success status is not the failure: the response body broke. */
function statusOf(value: unknown): number | undefined {
  const status = typeof value === 'string' && /^\d{3}$/.test(value) ? Number(value) : value;
  return typeof status === 'number' && status >= 400 && status <= 599 ? status : undefined;
}

function headersOf(value: unknown): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, content] of Object.entries(asObject(value)))
    if (typeof content === 'string') headers[name.toLowerCase()] = content;
  return headers;
}

function asObject(value: unknown): JsonObject {
  return typeof value === 'object' && value !== null ? (value as JsonObject) : {};
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value : undefined;
}
