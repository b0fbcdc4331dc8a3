import { isRecord, type JsonRecord } from '../providers/json.ts';
import { validateOpenAiChat } from '../providers/openai-chat.ts';
import type { Violation } from '../providers/violation.ts';
import { openAiEvent, openAiEvents } from './openai-stream.ts';
import type { WireFailure } from './wire-answer.ts';
import { openWireServer, type WireProtocol, type WireServer, type WireStep } from './wire-server.ts';

export interface OpenAiServerOptions {
  readonly script?: readonly WireStep[];
  /** Another key is refused with 401. Unset: no key is needed, as with local servers. */
  readonly apiKey?: string;
  /** Another model is refused with 404. */
  readonly model?: string;
  /** Rules of the server that speaks the format, for example `validateLocalTemplate`. */
  readonly validate?: (messages: readonly unknown[]) => Violation[];
  /** Refuses `max_tokens`, as reasoning models do. */
  readonly reasoning?: boolean;
}

const TOOL_NAME = /^[a-zA-Z0-9_-]{1,64}$/;

function failure(status: number, kind: string, message: string): WireFailure {
  const type = status === 429 ? 'requests' : status >= 500 ? 'server_error' : 'invalid_request_error';
  const code = kind === type ? null : kind;
  return { status, body: { error: { message, type, param: null, code } } };
}

/** Refusals in the words of OpenAI and compatible servers. */
export const OPENAI_FAILURES: Readonly<
  Record<
    | 'tooLong'
    | 'tooLongLlamaCpp'
    | 'badKey'
    | 'forbidden'
    | 'unknownModel'
    | 'unknownOllamaModel'
    | 'tooLarge'
    | 'rateLimited'
    | 'spent'
    | 'internal'
    | 'unavailable'
    | 'badGateway',
    WireFailure
  >
> = {
  tooLong: failure(
    400,
    'context_length_exceeded',
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 130042 tokens. Please reduce the length of the messages.",
  ),
  tooLongLlamaCpp: {
    status: 400,
    body: {
      error: {
        code: 400,
        message: 'the request exceeds the available context size. try increasing the context size',
        type: 'exceed_context_size_error',
        n_prompt_tokens: 9021,
        n_ctx: 8192,
      },
    },
  },
  badKey: failure(
    401,
    'invalid_api_key',
    'Incorrect API key provided: sk-no****key. You can find your API key at https://platform.openai.com/account/api-keys.',
  ),
  forbidden: failure(
    403,
    'unsupported_country_region_territory',
    'Country, region, or territory not supported',
  ),
  unknownModel: failure(
    404,
    'model_not_found',
    'The model `gpt-nonesuch` does not exist or you do not have access to it.',
  ),
  unknownOllamaModel: {
    status: 404,
    body: {
      error: {
        message: 'model "nonesuch" not found, try pulling it first',
        type: 'api_error',
        param: null,
        code: null,
      },
    },
  },
  tooLarge: { status: 413, body: '' },
  rateLimited: failure(
    429,
    'rate_limit_exceeded',
    'Rate limit reached for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Used 28000, Requested 4000. Please try again in 4s.',
  ),
  spent: failure(
    429,
    'insufficient_quota',
    'You exceeded your current quota, please check your plan and billing details.',
  ),
  internal: failure(
    500,
    'server_error',
    'The server had an error while processing your request. Sorry about that!',
  ),
  unavailable: failure(503, 'server_error', 'The engine is currently overloaded, please try again later'),
  badGateway: { status: 502, body: '<html><head><title>502 Bad Gateway</title></head></html>' },
};

/** Starts a chat completions API on the loopback interface. */
export async function openOpenAiServer({
  script = [],
  apiKey,
  model,
  validate = validateOpenAiChat,
  reasoning = false,
}: OpenAiServerOptions = {}): Promise<WireServer> {
  const protocol: WireProtocol = {
    path: '/v1/chat/completions',
    headers: { 'x-request-id': 'req_7b1c2f60d1a94f1b' },
    failure,
    judge: ({ headers, body }) => {
      if (apiKey !== undefined && headers['authorization'] !== `Bearer ${apiKey}`)
        return OPENAI_FAILURES.badKey;
      if (model !== undefined && body.model !== model)
        return failure(404, 'model_not_found', `The model \`${String(body.model)}\` does not exist`);
      const messages = Array.isArray(body.messages) ? body.messages : [];
      const [first] = [...judgeFields(body, reasoning), ...validate(messages)];
      return first && failure(400, 'invalid_request_error', `${first.message} (${first.at})`);
    },
    events: (answer, { body }) => openAiEvents(answer, body),
    errorEvent: () =>
      openAiEvent({
        error: {
          message: 'The server had an error processing your request',
          type: 'server_error',
          code: null,
        },
      }),
  };
  return await openWireServer(protocol, script);
}

function judgeFields(body: JsonRecord, reasoning: boolean): Violation[] {
  const violations: Violation[] = [];
  const report = (rule: string, at: string, message: string): void => {
    violations.push({ rule, at, message });
  };
  if (typeof body.model !== 'string') report('model', 'model', 'you must provide a model parameter');
  if (body.stream !== true) report('stream', 'stream', 'only streams are served here');
  for (const name of ['max_tokens', 'max_completion_tokens']) {
    const value = body[name];
    if (value === undefined) continue;
    if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 1)
      report('max-tokens', name, `Invalid '${name}': integer below minimum value.`);
  }
  if (reasoning && body.max_tokens !== undefined) {
    const message =
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
    report('max-tokens', 'max_tokens', message);
  }
  if (body.tools === undefined) return violations;
  const tools = Array.isArray(body.tools) ? body.tools : [];
  if (tools.length === 0) report('tools', 'tools', "Invalid 'tools': empty array.");
  for (const [i, tool] of tools.entries()) {
    const { name, parameters }: JsonRecord = isRecord(tool) && isRecord(tool.function) ? tool.function : {};
    if (typeof name !== 'string' || !TOOL_NAME.test(name))
      report(
        'tool-name',
        `tools[${i}]`,
        `Invalid 'tools[${i}].function.name': string does not match pattern.`,
      );
    if (!isRecord(parameters) || parameters.type !== 'object')
      report(
        'tool-schema',
        `tools[${i}]`,
        `Invalid schema for function '${String(name)}': schema must be an object`,
      );
  }
  return violations;
}
