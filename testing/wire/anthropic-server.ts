import { isRecord, type JsonRecord } from '../providers/json.ts';
import type { Violation } from '../providers/violation.ts';
import { judgeAnthropicBody } from './anthropic-request.ts';
import { anthropicEvent, anthropicEvents } from './anthropic-stream.ts';
import type { WireAnswer, WireFailure } from './wire-answer.ts';
import {
  openWireServer,
  type WireProtocol,
  type WireRequest,
  type WireServer,
  type WireStep,
} from './wire-server.ts';

export interface AnthropicServerOptions {
  readonly script?: readonly WireStep[];
  /** Another key is refused with 401. */
  readonly apiKey?: string;
  /** Another model is refused with 404. */
  readonly model?: string;
  /** Refuses thinking that this server did not sign in exactly these words. */
  readonly ownThinking?: boolean;
}

const REQUEST_ID = 'req_011CSHoEeqs5C35K2UUqR7Fy';

function failure(status: number, type: string, message: string): WireFailure {
  return { status, body: { type: 'error', error: { type, message }, request_id: REQUEST_ID } };
}

/** Refusals in the words of the Messages API. */
export const ANTHROPIC_FAILURES: Readonly<
  Record<
    | 'tooLong'
    | 'badKey'
    | 'forbidden'
    | 'unknownModel'
    | 'tooLarge'
    | 'rateLimited'
    | 'spent'
    | 'internal'
    | 'unavailable'
    | 'overloaded',
    WireFailure
  >
> = {
  tooLong: failure(400, 'invalid_request_error', 'prompt is too long: 210000 tokens > 200000 maximum'),
  badKey: failure(401, 'authentication_error', 'invalid x-api-key'),
  forbidden: failure(
    403,
    'permission_error',
    'Your API key does not have permission to use the specified resource.',
  ),
  unknownModel: failure(404, 'not_found_error', 'model: claude-nonesuch'),
  tooLarge: failure(413, 'request_too_large', 'Request exceeds the maximum size'),
  rateLimited: failure(
    429,
    'rate_limit_error',
    'This request would exceed your organization’s rate limit of 40,000 input tokens per minute.',
  ),
  spent: failure(
    400,
    'invalid_request_error',
    'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.',
  ),
  internal: failure(500, 'api_error', 'Internal server error'),
  unavailable: { status: 503, body: 'upstream connect error or disconnect/reset before headers' },
  overloaded: failure(529, 'overloaded_error', 'Overloaded'),
};

/** Starts a Messages API on the loopback interface. */
export async function openAnthropicServer({
  script = [],
  apiKey,
  model,
  ownThinking = false,
}: AnthropicServerOptions = {}): Promise<WireServer> {
  const signed = new Map<string, string>();
  const protocol: WireProtocol = {
    path: '/v1/messages',
    headers: { 'request-id': REQUEST_ID },
    failure,
    judge: ({ headers, body }) => {
      if (headers['x-api-key'] === undefined || (apiKey !== undefined && headers['x-api-key'] !== apiKey))
        return ANTHROPIC_FAILURES.badKey;
      if (headers['anthropic-version'] === undefined)
        return failure(400, 'invalid_request_error', 'anthropic-version: header is required');
      if (model !== undefined && body.model !== model)
        return failure(404, 'not_found_error', `model: ${String(body.model)}`);
      const violations = judgeAnthropicBody(body);
      if (body.stream !== true)
        violations.push({ rule: 'stream', at: 'stream', message: 'stream: true wanted' });
      if (ownThinking) violations.push(...judgeSignatures(body, signed));
      return refusal(violations);
    },
    events: (answer: WireAnswer, { body }: WireRequest) => {
      for (const block of answer.blocks) {
        if (block.type === 'thinking') signed.set(block.signature, block.thinking);
        if (block.type === 'redacted') signed.set(block.data, '');
      }
      return anthropicEvents(answer, body.model);
    },
    errorEvent: () =>
      anthropicEvent({
        type: 'error',
        error: { details: null, type: 'overloaded_error', message: 'Overloaded' },
      }),
  };
  return await openWireServer(protocol, script);
}

function refusal(violations: readonly Violation[]): WireFailure | undefined {
  const [first] = violations;
  if (first === undefined) return undefined;
  if (first.rule === 'request-too-large') return ANTHROPIC_FAILURES.tooLarge;
  return failure(400, 'invalid_request_error', `${first.at}: ${first.message}`);
}

/** "`thinking` or `redacted_thinking` blocks … cannot be modified": a rule that a single request cannot show. */
function judgeSignatures({ messages }: JsonRecord, signed: ReadonlyMap<string, string>): Violation[] {
  const violations: Violation[] = [];
  for (const [i, message] of (Array.isArray(messages) ? messages : []).entries()) {
    const content: unknown = isRecord(message) ? message.content : undefined;
    for (const [j, block] of (Array.isArray(content) ? content : []).entries()) {
      if (!isRecord(block)) continue;
      const hidden = block.type === 'redacted_thinking';
      if (block.type !== 'thinking' && !hidden) continue;
      const known = signed.get(String(hidden ? block.data : block.signature));
      if (known === (hidden ? '' : block.thinking)) continue;
      const at = `messages.${i}.content.${j}`;
      violations.push({
        rule: 'thinking-signature',
        at,
        message: `Invalid \`signature\` in \`${block.type}\` block`,
      });
    }
  }
  return violations;
}
