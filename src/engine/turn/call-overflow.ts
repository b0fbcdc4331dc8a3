import { RepriseError } from '../../errors.ts';
import { findContextOverflow } from '../../models/model-error.ts';
import type { OverflowNumbers } from '../../models/overflow.ts';
import { isObject, type JsonObject } from '../../transcript/json.ts';

/** How deep clients bury the provider's own words: `error.error.error.type`. */
const MAX_DEPTH = 4;

/**
 * Whether what a caller's own client threw says "too long": by status and code first, then by the provider's
 * words. Read by its fields, so that the errors of Anthropic's, OpenAI's and Vercel's clients all do, in any version.
 */
export function overflowOf(error: unknown): OverflowNumbers | undefined {
  if (error instanceof RepriseError) return fromOurs(error);
  let status: number | undefined;
  let code: string | undefined;
  let type: string | undefined;
  let message = typeof error === 'string' ? error : undefined;
  // What lies deeper is closer to the provider, so it wins.
  for (const { status: s, statusCode, code: c, type: t, message: m } of layersOf(error)) {
    status ??= numberOf(s) ?? numberOf(statusCode);
    code = textOf(c) ?? code;
    // Anthropic's body is itself of the type "error".
    type = t === 'error' ? type : (textOf(t) ?? type);
    message = textOf(m) ?? message;
  }
  return findContextOverflow({ status, code, type, message });
}

function fromOurs({ code, details: { limit, actual } }: RepriseError): OverflowNumbers | undefined {
  if (code !== 'CONTEXT_OVERFLOW') return undefined;
  return {
    ...(typeof limit === 'number' && { limit }),
    ...(typeof actual === 'number' && { actual }),
  };
}

/** The error, its body, and the error in that. */
function layersOf(error: unknown): JsonObject[] {
  const layers: JsonObject[] = [];
  let current: unknown = error;
  while (isObject(current) && layers.length < MAX_DEPTH) {
    layers.push(current);
    current = current['error'] ?? current['data'] ?? parsed(current['responseBody']);
  }
  return layers;
}

function parsed(body: unknown): unknown {
  if (typeof body !== 'string') return undefined;
  try {
    return JSON.parse(body);
  } catch {
    // Expected: a proxy answered in words, and then those are the message.
    return { message: body };
  }
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
