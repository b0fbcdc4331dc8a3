import { isObject, type JsonObject } from '../json.ts';

/**
 * Converts Anthropic-style content (claw0, ZyHive) to canonical blocks. Canonical content is returned unchanged, so
 * reading our own files copies nothing.
 */

const FOREIGN_BLOCKS: ReadonlySet<unknown> = new Set(['tool_use', 'tool_result', 'redacted_thinking']);

export function hasForeignBlocks(content: unknown): boolean {
  if (!Array.isArray(content)) return false;
  for (const block of content) {
    if (!isObject(block)) continue;
    if (FOREIGN_BLOCKS.has(block['type']) || block['source'] !== undefined) return true;
    if (block['type'] === 'thinking' && block['signature'] !== undefined) return true;
  }
  return false;
}

export function canonicalBlock(block: unknown): unknown {
  if (!isObject(block)) return typeof block === 'string' ? { type: 'text', text: block } : block;
  switch (block['type']) {
    case 'tool_use':
      return toolCall(block['id'], block['name'], block['input']);
    case 'redacted_thinking':
      return { type: 'thinking', thinking: '', thinkingSignature: block['data'], redacted: true };
    case 'thinking':
      if (block['signature'] === undefined) return block;
      return { type: 'thinking', thinking: block['thinking'], thinkingSignature: block['signature'] };
    case 'image':
      return isObject(block['source']) ? canonicalImage(block['source']) : block;
    default:
      return block;
  }
}

export function toolCall(id: unknown, name: unknown, input: unknown): JsonObject {
  return { type: 'toolCall', id, name, ...(input !== undefined && { arguments: input }) };
}

/** The content of a tool result in canonical form: a list of blocks. */
function resultContent(content: unknown): unknown[] {
  if (Array.isArray(content)) return content.map(canonicalBlock);
  if (content === undefined || content === null) return [];
  return [{ type: 'text', text: typeof content === 'string' ? content : JSON.stringify(content) }];
}

function canonicalImage(source: JsonObject): JsonObject {
  if (source['type'] === 'base64') {
    return { type: 'image', data: source['data'], mimeType: source['media_type'] };
  }
  return { type: 'text', text: `[image at ${String(source['url'] ?? 'an unknown place')}]` };
}

/**
 * Converts a message of any style to canonical messages: results inside a user message become separate messages
 * before its text, in the order that APIs expect.
 */
export function canonicalMessages(message: JsonObject): JsonObject[] {
  const { content, role } = message;
  if (role === 'hookMessage') return [{ ...message, role: 'custom' }];
  if (!hasForeignBlocks(content) || !Array.isArray(content)) return [message];
  const results: JsonObject[] = [];
  const blocks: unknown[] = [];
  for (const block of content) {
    if (isObject(block) && block['type'] === 'tool_result') results.push(toolResult(block));
    else blocks.push(canonicalBlock(block));
  }
  return blocks.length === 0 ? results : [...results, { ...message, content: blocks }];
}

export function toolResult(block: JsonObject): JsonObject {
  const { tool_use_id, content, output, is_error, name } = block;
  return {
    role: 'toolResult',
    toolCallId: tool_use_id,
    toolName: typeof name === 'string' ? name : '',
    content: resultContent(content ?? output),
    isError: is_error === true,
  };
}
