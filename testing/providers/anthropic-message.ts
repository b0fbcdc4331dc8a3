import type { AnthropicImage } from './anthropic-images.ts';
import { isBlank, isRecord, type JsonRecord, quote } from './json.ts';
import type { ToolExchange, ToolRef } from './tool-exchange.ts';
import type { Report } from './violation.ts';

const TOOL_USE_ID = /^[a-zA-Z0-9_-]{1,64}$/;
const TOOL_NAME = /^[a-zA-Z0-9_-]{1,128}$/;

const BLOCKS_BY_ROLE: Readonly<Record<'user' | 'assistant', ReadonlySet<unknown>>> = {
  user: new Set(['text', 'image', 'tool_result']),
  assistant: new Set(['text', 'thinking', 'redacted_thinking', 'tool_use']),
};
const BLOCK_TYPES = new Set([...BLOCKS_BY_ROLE.user, ...BLOCKS_BY_ROLE.assistant]);

/** What the rules between messages need to know about one message. */
export interface AnthropicTurn extends ToolExchange {
  readonly at: string;
  /** Undefined if the message has no role. That is reported, and the rules about roles skip the message. */
  readonly role: 'user' | 'assistant' | undefined;
  readonly images: readonly AnthropicImage[];
  readonly lastBlock: JsonRecord | undefined;
}

/** Checks one message by itself. */
export function readAnthropicMessage(message: unknown, at: string, report: Report): AnthropicTurn {
  const fields: JsonRecord = isRecord(message) ? message : {};
  const role: AnthropicTurn['role'] =
    fields.role === 'user' || fields.role === 'assistant' ? fields.role : undefined;
  if (role === undefined) report('shape', at, 'a message needs the role user or assistant');
  const turn = { at, role, calls: [], results: [], images: [], lastBlock: undefined };
  const { content } = fields;
  if (typeof content === 'string') {
    if (isBlank(content)) report('empty-content', at, 'messages must have non-empty content');
    return { ...turn, lastBlock: { type: 'text', text: content } };
  }
  if (!Array.isArray(content)) {
    report('shape', at, 'content is neither a string nor a list of blocks');
    return turn;
  }
  if (content.length === 0) report('empty-content', at, 'messages must have non-empty content');
  return { ...turn, ...readBlocks(content, { at, role }, report) };
}

function readBlocks(
  content: readonly unknown[],
  { at, role }: Pick<AnthropicTurn, 'at' | 'role'>,
  report: Report,
): Omit<AnthropicTurn, 'at' | 'role'> {
  const calls: ToolRef[] = [];
  const results: ToolRef[] = [];
  const images: AnthropicImage[] = [];
  let lastBlock: JsonRecord | undefined;
  let beforeContent = true;
  for (const [index, block] of content.entries()) {
    const where = `${at}.content[${index}]`;
    lastBlock = isRecord(block) ? block : undefined;
    if (!isRecord(block) || !BLOCK_TYPES.has(block.type)) {
      report('shape', where, 'not a block of a known type');
      continue;
    }
    if (role !== undefined && !BLOCKS_BY_ROLE[role].has(block.type)) {
      report('block-in-wrong-role', where, `a ${block.type} block in a message of the ${role}`);
    }
    judgeBlock(block, where, report);
    if (block.type === 'image') images.push({ at: where, source: block.source });
    if (block.type === 'tool_use' && role === 'assistant' && typeof block.id === 'string') {
      calls.push({ id: block.id, at: where });
    }
    if (block.type !== 'tool_result') {
      beforeContent = false;
      continue;
    }
    for (const image of readResultContent(block.content, where, report)) images.push(image);
    if (role !== 'user') continue;
    if (typeof block.tool_use_id === 'string') results.push({ id: block.tool_use_id, at: where });
    if (!beforeContent) {
      report('tool-result-after-content', where, 'tool_result blocks must come before any other content');
    }
  }
  return { calls, results, images, lastBlock };
}

function judgeBlock(block: JsonRecord, at: string, report: Report): void {
  switch (block.type) {
    case 'text':
      judgeText(block, at, report);
      break;
    case 'thinking':
      if (typeof block.thinking !== 'string') report('shape', at, 'thinking is not a string');
      if (typeof block.signature !== 'string' || block.signature === '') {
        report('thinking-signature', at, 'thinking.signature: Field required');
      }
      break;
    case 'redacted_thinking':
      if (typeof block.data !== 'string' || block.data === '')
        report('shape', at, 'redacted_thinking has no data');
      break;
    case 'tool_use':
      judgeToolUse(block, at, report);
      break;
    case 'tool_result':
      if (typeof block.tool_use_id !== 'string') report('shape', at, 'tool_use_id is not a string');
      if (block.is_error !== undefined && typeof block.is_error !== 'boolean') {
        report('shape', at, 'is_error is not a boolean');
      }
      break;
  }
}

function judgeText({ text }: JsonRecord, at: string, report: Report): void {
  if (typeof text !== 'string') report('shape', at, 'text is not a string');
  else if (isBlank(text)) report('empty-text', at, 'text content blocks must be non-empty');
}

function judgeToolUse({ id, name, input }: JsonRecord, at: string, report: Report): void {
  if (typeof id !== 'string') report('shape', at, 'id is not a string');
  else if (!TOOL_USE_ID.test(id))
    report('tool-use-id', at, `id does not match ${TOOL_USE_ID.source}: ${quote(id)}`);
  if (typeof name !== 'string') report('shape', at, 'name is not a string');
  else if (!TOOL_NAME.test(name))
    report('tool-name', at, `name does not match ${TOOL_NAME.source}: ${quote(name)}`);
  if (input === undefined) report('tool-input', at, 'tool_use.input: Field required');
  else if (!isRecord(input)) report('tool-input', at, 'tool_use.input: Input should be a valid dictionary');
}

/** A tool result may be empty or missing, but a text block in it may not be empty. */
function readResultContent(content: unknown, at: string, report: Report): AnthropicImage[] {
  const images: AnthropicImage[] = [];
  if (content === undefined || typeof content === 'string') return images;
  if (!Array.isArray(content)) {
    report('shape', at, 'content of a tool_result is neither a string nor a list of blocks');
    return images;
  }
  for (const [index, block] of content.entries()) {
    const where = `${at}.content[${index}]`;
    if (isRecord(block) && block.type === 'text') judgeText(block, where, report);
    else if (isRecord(block) && block.type === 'image') images.push({ at: where, source: block.source });
    else report('shape', where, 'a tool_result holds text and image blocks only');
  }
  return images;
}
