import type { Entry } from '../transcript/entry.ts';
import { inspectJson, isObject, type JsonObject } from '../transcript/json.ts';
import { DEFAULT_RECORD_LIMITS } from '../transcript/limits.ts';
import { imageSize } from '../transcript/render/image-size.ts';
import { estimateTextTokens } from './estimate.ts';

/**
 * Tokens of messages in any format: projected messages, stored entries, and the messages of the Anthropic and OpenAI
 * APIs. The overhead on the wire is a few tokens per message, call and result. An unknown block counts as its JSON
 * text: too many tokens are safe.
 */

const MESSAGE_TOKENS = 4;
const CALL_TOKENS = 10;
const RESULT_TOKENS = 8;
/** Providers add a preamble about tool calls before the first tool. */
const TOOLS_TOKENS = 300;
const TOOL_TOKENS = 10;

/** Providers shrink an image to this side before they count its pixels. */
const MAX_IMAGE_SIDE = 1568;
const PIXELS_PER_TOKEN = 750;
/** The maximum for an image, also used if its size is unknown. */
const MAX_IMAGE_TOKENS = 1600;
/** Only this many base64 characters of the image are read; a size after them counts as unknown. */
const IMAGE_HEAD_CHARS = 4096;

export interface ToolSchema {
  readonly name: string;
  readonly description?: string | undefined;
  readonly inputSchema?: unknown;
}

export function estimateToolTokens(tools: readonly ToolSchema[]): number {
  let tokens = tools.length > 0 ? TOOLS_TOKENS : 0;
  for (const { name, description = '', inputSchema } of tools) {
    tokens +=
      TOOL_TOKENS + estimateTextTokens(name) + estimateTextTokens(description) + jsonTokens(inputSchema);
  }
  return tokens;
}

export function estimateImageTokens(data: string, mimeType: string): number {
  const size = imageSize(data.slice(0, IMAGE_HEAD_CHARS), mimeType);
  if (size === undefined) return MAX_IMAGE_TOKENS;
  const scale = Math.min(1, MAX_IMAGE_SIDE / Math.max(size.width, size.height));
  return Math.min(MAX_IMAGE_TOKENS, Math.ceil((size.width * scale * size.height * scale) / PIXELS_PER_TOKEN));
}

export function estimateMessagesTokens(messages: readonly object[]): number {
  let tokens = 0;
  for (const message of messages) tokens += estimateTokens(message);
  return tokens;
}

/**
 * The tokens of a projected message, an API message or a stored entry; an entry counts with what it contributes
 * itself.
 */
export function estimateTokens(message: object): number {
  const { type, role } = message as JsonObject;
  if (typeof role !== 'string') return typeof type === 'string' ? estimateEntryTokens(message as Entry) : 0;
  // Do not cache objects that a caller may still change.
  if (!isSettled(message as JsonObject)) return messageTokens(message as JsonObject);
  let tokens = counted.get(message);
  if (tokens === undefined) {
    tokens = messageTokens(message as JsonObject);
    counted.set(message, tokens);
  }
  return tokens;
}

function isSettled(message: JsonObject): boolean {
  if (!Object.isFrozen(message)) return false;
  return [message['content'], message['results'], message['tool_calls']].every(
    (list) => !Array.isArray(list) || (Object.isFrozen(list) && list.every((part) => Object.isFrozen(part))),
  );
}

function messageTokens(message: JsonObject): number {
  const { role, content, results, tool_calls } = message;
  if (role === 'bashExecution') return shellTokens(message);
  let tokens = MESSAGE_TOKENS + contentTokens(content);
  if (Array.isArray(results)) for (const result of results) tokens += resultTokens(result);
  if (Array.isArray(tool_calls)) for (const call of tool_calls) tokens += CALL_TOKENS + jsonTokens(call);
  return tokens;
}

const counted = new WeakMap<object, number>();

/**
 * The tokens that an entry adds to the context; `edit` is the content that replaces its own, null hides it. Entries
 * do not change, so each is counted once, however often a compaction is planned over it.
 */
export function estimateEntryTokens(entry: Entry, edit?: unknown): number {
  if (edit === null) return 0;
  if (edit !== undefined) return MESSAGE_TOKENS + contentTokens(edit);
  let tokens = counted.get(entry);
  if (tokens === undefined) {
    tokens = entryTokens(entry);
    counted.set(entry, tokens);
  }
  return tokens;
}

function entryTokens({ type, message, content, summary }: Entry): number {
  if (type === 'message') {
    if (!isObject(message) || message['role'] === 'system') return 0;
    return estimateTokens(message);
  }
  if (type === 'custom_message') return MESSAGE_TOKENS + contentTokens(content);
  if (type !== 'compaction' && type !== 'branch_summary') return 0;
  return typeof summary === 'string' && summary !== '' ? MESSAGE_TOKENS + estimateTextTokens(summary) : 0;
}

function contentTokens(content: unknown): number {
  if (typeof content === 'string') return estimateTextTokens(content);
  if (!Array.isArray(content)) return 0;
  let tokens = 0;
  for (const block of content) tokens += blockTokens(block);
  return tokens;
}

function blockTokens(block: unknown): number {
  if (typeof block === 'string') return estimateTextTokens(block);
  if (!isObject(block)) return 0;
  const { type, text } = block;
  switch (type) {
    case 'text':
    case 'input_text':
    case 'output_text':
      return typeof text === 'string' ? estimateTextTokens(text) : 0;
    case 'thinking':
    case 'redacted_thinking':
      return thinkingTokens(block);
    case 'image':
    case 'image_url':
      return imageTokens(block);
    case 'call':
    case 'toolCall':
    case 'tool_use':
    case 'tool-call':
      return callTokens(block);
    case 'tool_result':
      return resultTokens(block);
    default:
      return jsonTokens(block);
  }
}

/** The model does not read signatures as text. Redacted thinking, however, consists only of its encrypted bytes. */
function thinkingTokens({ thinking, data, signature, thinkingSignature, redacted }: JsonObject): number {
  if (typeof thinking === 'string' && thinking !== '') return estimateTextTokens(thinking);
  const sealed = data ?? (redacted === true ? (signature ?? thinkingSignature) : undefined);
  return typeof sealed === 'string' ? Math.ceil(sealed.length / 5) : 0;
}

function callTokens({ name, input, arguments: args }: JsonObject): number {
  return CALL_TOKENS + textTokens(name) + jsonTokens(input ?? args);
}

function resultTokens(result: unknown): number {
  if (!isObject(result)) return 0;
  const { text, images, content } = result;
  let tokens = RESULT_TOKENS + textTokens(text);
  if (Array.isArray(images)) for (const image of images) tokens += blockTokens(image);
  if (typeof content === 'string') return tokens + estimateTextTokens(content);
  // A result contains text and images, never another result, so nesting cannot overflow the stack.
  if (!Array.isArray(content)) return tokens;
  for (const block of content) {
    tokens += isObject(block) && block['type'] === 'tool_result' ? jsonTokens(block) : blockTokens(block);
  }
  return tokens;
}

const DATA_URL = /^data:([^;,]{1,100});base64,/;

function imageTokens({ data, mimeType, source, image_url }: JsonObject): number {
  if (typeof data === 'string') return estimateImageTokens(data, String(mimeType));
  if (isObject(source) && typeof source['data'] === 'string') {
    return estimateImageTokens(source['data'], String(source['media_type']));
  }
  const url = isObject(image_url) ? image_url['url'] : image_url;
  const head = typeof url === 'string' ? DATA_URL.exec(url) : null;
  if (typeof url !== 'string' || head === null) return MAX_IMAGE_TOKENS;
  return estimateImageTokens(url.slice(head[0].length, head[0].length + IMAGE_HEAD_CHARS), head[1] ?? '');
}

function shellTokens({ command, output, excludeFromContext }: JsonObject): number {
  if (excludeFromContext === true) return 0;
  return MESSAGE_TOKENS + RESULT_TOKENS + textTokens(command) + textTokens(output);
}

function textTokens(text: unknown): number {
  return typeof text === 'string' ? estimateTextTokens(text) : 0;
}

function jsonTokens(value: unknown): number {
  if (typeof value === 'string') return estimateTextTokens(value);
  if (typeof value !== 'object' || value === null) return 1;
  // Deeper values are not sent, and serializing them would overflow the stack.
  if (inspectJson({ value }, DEFAULT_RECORD_LIMITS.maxDepth + 1).tooDeep) return CALL_TOKENS;
  return estimateTextTokens(String(JSON.stringify(value)));
}
