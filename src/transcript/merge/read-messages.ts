import type {
  AssistantMessage,
  ImageBlock,
  TextBlock,
  ThinkingBlock,
  ToolCallBlock,
  ToolResultMessage,
  UserMessage,
} from '../entry.ts';
import { isObject, type JsonObject } from '../json.ts';
import { callInput } from '../render/conversation.ts';

/** The message formats that `mergeHistory` reads. */
export type MergeFormat = 'anthropic' | 'openai' | 'openai-responses' | 'gemini' | 'ai-sdk';

export type ReadMessage = UserMessage | AssistantMessage | ToolResultMessage;

type Block = TextBlock | ImageBlock | ThinkingBlock | ToolCallBlock;
type Part = Block | ToolResultMessage;

interface ReadRecord {
  readonly role: 'user' | 'assistant';
  readonly parts: readonly Part[];
}

const READERS: Readonly<Record<MergeFormat, (records: readonly unknown[]) => ReadRecord[]>> = {
  anthropic: (records) => records.flatMap((record) => (isObject(record) ? anthropicRecord(record) : [])),
  openai: (records) => records.flatMap((record) => (isObject(record) ? openAiRecord(record) : [])),
  'openai-responses': responsesRecords,
  gemini: geminiRecords,
  'ai-sdk': (records) => records.flatMap((record) => (isObject(record) ? aiSdkRecord(record) : [])),
};

export const MERGE_FORMATS: readonly string[] = Object.keys(READERS);

/**
 * Converts the messages of another program to messages of a transcript, without instructions (system, developer) and
 * without messages that have no text, call, result or image. Never throws: a part of an unknown type becomes a text
 * that names it.
 */
export function readMessages(records: readonly unknown[], format: MergeFormat): ReadMessage[] {
  const messages: ReadMessage[] = [];
  for (const { role, parts } of READERS[format](records)) {
    for (const part of parts) if (isResult(part)) messages.push(part);
    const blocks = parts.filter(isBlock);
    if (role === 'user') {
      const content = blocks.filter((block) => block.type === 'text' || block.type === 'image');
      if (content.some(hasContent)) messages.push({ role, content });
      continue;
    }
    const content = blocks.flatMap((block) => (block.type === 'image' ? [named('image')] : [block]));
    if (content.some(hasContent)) messages.push({ role, content });
  }
  return messages;
}

function isResult(part: Part): part is ToolResultMessage {
  return 'role' in part;
}

function isBlock(part: Part): part is Block {
  return !isResult(part);
}

function hasContent(block: Block): boolean {
  return block.type === 'text' ? block.text.trim() !== '' : block.type !== 'thinking';
}

/** Content of any of these APIs: a text, or parts. Calls, results and thinking are read by `read`. */
function partsOf(content: unknown, read: (part: JsonObject) => Part | undefined = () => undefined): Part[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  if (!Array.isArray(content)) return [];
  return content.flatMap((part): Part[] => {
    if (typeof part === 'string') return [{ type: 'text', text: part }];
    return isObject(part) ? [read(part) ?? plainPart(part)] : [];
  });
}

function plainPart(part: JsonObject): TextBlock | ImageBlock {
  const { type, text, refusal } = part;
  if (typeof text === 'string') return { type: 'text', text };
  if (typeof refusal === 'string') return { type: 'text', text: refusal };
  return imageIn(part) ?? named(type);
}

function named(type: unknown): TextBlock {
  return { type: 'text', text: `[${typeof type === 'string' ? type : 'part'}]` };
}

/** An image as each API writes it: inside the part, or as a data URL. An image at an address becomes a text. */
function imageIn(part: JsonObject): TextBlock | ImageBlock | undefined {
  const { type, source, image_url, image, data, mediaType, mimeType } = part;
  if (isObject(source) && type === 'image')
    return source['type'] === 'base64'
      ? imageBlock(source['data'], source['media_type'])
      : imageAt(source['url']);
  const url = isObject(image_url) ? image_url['url'] : image_url;
  if (typeof url === 'string') return imageFrom(url, undefined);
  const bytes = image ?? data;
  const media = mediaType ?? mimeType;
  if (type !== 'image' && !(typeof media === 'string' && media.startsWith('image/'))) return undefined;
  if (bytes instanceof Uint8Array) return imageBlock(Buffer.from(bytes).toString('base64'), media);
  if (bytes instanceof URL) return imageFrom(bytes.href, media);
  return typeof bytes === 'string' ? imageFrom(bytes, media) : undefined;
}

function imageFrom(text: string, media: unknown): TextBlock | ImageBlock {
  const [, type, data] = /^data:([^;,]*);base64,(.*)$/s.exec(text) ?? [];
  if (data !== undefined) return imageBlock(data, type);
  return /^https?:/.test(text) ? imageAt(text) : imageBlock(text, media);
}

function imageBlock(data: unknown, mimeType: unknown): ImageBlock {
  return { type: 'image', data: textOf(data), mimeType: textOf(mimeType) || 'image/png' };
}

/** As `dialects/blocks.ts` writes it. */
function imageAt(url: unknown): TextBlock {
  return { type: 'text', text: `[image at ${String(url ?? 'an unknown place')}]` };
}

function call(id: unknown, name: unknown, input: unknown): ToolCallBlock {
  return { type: 'toolCall', id: textOf(id), name: textOf(name), arguments: callInput(input) };
}

function result(id: unknown, name: unknown, content: unknown, isError = false): ToolResultMessage {
  const blocks = resultBlocks(content);
  return { role: 'toolResult', toolCallId: textOf(id), toolName: textOf(name), content: blocks, isError };
}

function resultBlocks(content: unknown): (TextBlock | ImageBlock)[] {
  if (content === undefined || content === null) return [];
  if (typeof content !== 'string' && !Array.isArray(content))
    return [{ type: 'text', text: JSON.stringify(content) }];
  return partsOf(content)
    .filter(isBlock)
    .filter((block) => block.type === 'text' || block.type === 'image');
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function roleOf(role: unknown): ReadRecord['role'] | undefined {
  return role === 'assistant' || role === 'model' ? 'assistant' : role === 'user' ? 'user' : undefined;
}

function anthropicRecord({ role: given, content }: JsonObject): ReadRecord[] {
  const role = roleOf(given);
  if (role === undefined) return [];
  const parts = partsOf(content, (part) => {
    switch (part['type']) {
      case 'tool_use':
        return call(part['id'], part['name'], part['input']);
      case 'tool_result':
        return result(part['tool_use_id'], '', part['content'], part['is_error'] === true);
      case 'thinking':
        return thinkingBlock(part['thinking'], part['signature']);
      case 'redacted_thinking':
        return { ...thinkingBlock('', part['data']), redacted: true };
      default:
        return undefined;
    }
  });
  return [{ role, parts }];
}

function thinkingBlock(thinking: unknown, signature: unknown): ThinkingBlock {
  const signed = typeof signature === 'string' && signature !== '' ? { thinkingSignature: signature } : {};
  return { type: 'thinking', thinking: textOf(thinking), ...signed };
}

function openAiRecord({
  role: given,
  content,
  tool_calls,
  function_call,
  ...rest
}: JsonObject): ReadRecord[] {
  if (given === 'tool' || given === 'function')
    return [{ role: 'user', parts: [result(rest['tool_call_id'] ?? rest['name'], rest['name'], content)] }];
  const role = roleOf(given);
  if (role === undefined) return [];
  const calls = (Array.isArray(tool_calls) ? tool_calls : []).filter(isObject).map(({ id, ...made }) => {
    const named = isObject(made['function'])
      ? made['function']
      : isObject(made['custom'])
        ? made['custom']
        : {};
    return call(id, named['name'], named['arguments'] ?? named['input']);
  });
  // The form of 2023 had no ids: the name of the function paired a call with its result.
  if (isObject(function_call))
    calls.push(call(function_call['name'], function_call['name'], function_call['arguments']));
  return [{ role, parts: [...partsOf(content), ...calls] }];
}

/** The items of one answer are one message: its thinking, its texts and its calls. */
function responsesRecords(items: readonly unknown[]): ReadRecord[] {
  const records: ReadRecord[] = [];
  for (const record of items.filter(isObject).flatMap(responsesItem)) {
    const last = records.at(-1);
    if (record.role !== 'assistant' || last?.role !== 'assistant') records.push(record);
    else records[records.length - 1] = { role: 'assistant', parts: [...last.parts, ...record.parts] };
  }
  return records;
}

function responsesItem(item: JsonObject): ReadRecord[] {
  const { type, role: given, content } = item;
  const role = roleOf(given);
  if (role !== undefined) return [{ role, parts: partsOf(content) }];
  const id = item['call_id'] ?? item['id'];
  switch (type) {
    case 'function_call':
      return [{ role: 'assistant', parts: [call(id, item['name'], item['arguments'])] }];
    case 'custom_tool_call':
      return [{ role: 'assistant', parts: [call(id, item['name'], { input: item['input'] })] }];
    case 'local_shell_call':
      return [{ role: 'assistant', parts: [call(id, 'local_shell', item['action'])] }];
    case 'function_call_output':
    case 'custom_tool_call_output':
    case 'local_shell_call_output':
      return [{ role: 'user', parts: [result(id, '', item['output'])] }];
    case 'reasoning':
      return [
        {
          role: 'assistant',
          parts: [thinkingBlock(summaryText(item['summary']), item['encrypted_content'])],
        },
      ];
    default:
      return [];
  }
}

function summaryText(summary: unknown): string {
  const parts = Array.isArray(summary) ? summary.filter(isObject) : [];
  return parts.map(({ text }) => textOf(text)).join('\n\n');
}

/** Gemini has no call ids: a response belongs to the first open call of its name. */
function geminiRecords(records: readonly unknown[]): ReadRecord[] {
  let calls = 0;
  let open: ToolCallBlock[] = [];
  const answered = (id: unknown, name: unknown): ToolCallBlock | undefined => {
    const at = open.findIndex((each) => (id === undefined ? each.name === name : each.id === id));
    return open.splice(Math.max(at, 0), 1)[0];
  };
  return records.filter(isObject).flatMap(({ role: given, parts }) => {
    const role = roleOf(given ?? 'user') ?? (given === 'function' || given === 'tool' ? 'user' : undefined);
    if (role === undefined) return [];
    if (role === 'assistant') open = [];
    const read = partsOf(parts, (part): Part | undefined => {
      const { functionCall, functionResponse, inlineData, thought, text } = part;
      if (isObject(functionCall)) {
        const made = call(
          functionCall['id'] ?? `gemini-${calls}`,
          functionCall['name'],
          functionCall['args'],
        );
        calls++;
        open.push(made);
        const { thoughtSignature } = part;
        return typeof thoughtSignature === 'string' ? { ...made, thoughtSignature } : made;
      }
      if (isObject(functionResponse)) {
        const { id, name, response } = functionResponse;
        return result(answered(id, name)?.id ?? id, name, responseOf(response));
      }
      if (isObject(inlineData)) return imageIn(inlineData) ?? named(inlineData['mimeType']);
      return thought === true ? thinkingBlock(text, undefined) : undefined;
    });
    return [{ role, parts: read }];
  });
}

/** Gemini requires an object, so a plain result is wrapped as its only field. */
function responseOf(response: unknown): unknown {
  if (!isObject(response)) return response;
  const [only, ...others] = Object.entries(response);
  const isWrapped =
    only !== undefined && others.length === 0 && ['output', 'result', 'error'].includes(only[0]);
  return isWrapped ? only[1] : response;
}

function aiSdkRecord({ role: given, content }: JsonObject): ReadRecord[] {
  const role = given === 'tool' ? 'user' : roleOf(given);
  if (role === undefined) return [];
  const parts = partsOf(content, (part) => {
    const { type, toolCallId, toolName } = part;
    if (type === 'tool-call') return call(toolCallId, toolName, part['input'] ?? part['args']);
    if (type === 'tool-result') return aiSdkResult(part);
    if (type === 'reasoning') return thinkingBlock(part['text'], signatureIn(part));
    return undefined;
  });
  // Answers to requests for approval are no part of the conversation.
  return [{ role, parts: given === 'tool' ? parts.filter(isResult) : parts }];
}

function aiSdkResult({ toolCallId, toolName, output, ...part }: JsonObject): ToolResultMessage {
  if (!isObject(output)) return result(toolCallId, toolName, part['result'], part['isError'] === true);
  const { type, value, reason } = output;
  return result(toolCallId, toolName, value ?? reason, String(type).startsWith('error'));
}

function signatureIn({ providerOptions }: JsonObject): unknown {
  if (!isObject(providerOptions)) return undefined;
  const own = Object.values(providerOptions).filter(isObject);
  return own.map(({ signature }) => signature).find((signature) => typeof signature === 'string');
}
