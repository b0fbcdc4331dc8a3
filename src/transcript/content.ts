import { isBlobReference } from './blobs.ts';
import type { Entry } from './entry.ts';
import { isObject, type JsonObject } from './json.ts';

/**
 * Reads stored message content of any form: a string, a list of blocks, or something that no tool should have
 * written. Unknown parts are ignored.
 */

export type ContentBlock =
  | {
      readonly type: 'text';
      readonly text: string;
      /** The text stands for an image that is stored beside the session. */
      readonly forImage?: boolean;
    }
  | { readonly type: 'image'; readonly data: string; readonly mimeType: string; readonly block: object }
  | {
      readonly type: 'thinking';
      readonly thinking: string;
      readonly signature: string;
      readonly redacted: boolean;
    }
  | { readonly type: 'toolCall'; readonly block: JsonObject };

/** The calls in a message's content, in the form for display. */
export function shownCalls(content: unknown): { id: string; name: string; input: unknown }[] {
  return readBlocks(content).flatMap((block) => {
    if (block.type !== 'toolCall') return [];
    const { id, name, arguments: input } = block.block;
    return [{ id: String(id), name: String(name), input }];
  });
}

export function readBlocks(content: unknown): ContentBlock[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  if (!Array.isArray(content)) return [];
  const blocks: ContentBlock[] = [];
  for (const block of content) {
    const read = readBlock(block);
    if (read !== undefined) blocks.push(read);
  }
  return blocks;
}

function readBlock(block: unknown): ContentBlock | undefined {
  if (typeof block === 'string') return { type: 'text', text: block };
  if (!isObject(block)) return undefined;
  switch (block['type']) {
    case 'text':
      return {
        type: 'text',
        text: text(block['text']),
        ...(isBlobReference(block) && block.mimeType.startsWith('image/') && { forImage: true }),
      };
    case 'image':
      return { type: 'image', data: text(block['data']), mimeType: text(block['mimeType']), block };
    case 'thinking':
      return {
        type: 'thinking',
        thinking: text(block['thinking']),
        signature: text(block['thinkingSignature']),
        redacted: block['redacted'] === true,
      };
    case 'toolCall':
      return { type: 'toolCall', block };
    default:
      return undefined;
  }
}

/** The calls of an entry, in order; ids that are not strings are ignored. */
export function callsOf({ type, message }: Entry): { readonly id: string; readonly name: string }[] {
  if (type !== 'message' || !isObject(message) || message['role'] !== 'assistant') return [];
  return readBlocks(message['content']).flatMap((block) => {
    if (block.type !== 'toolCall' || typeof block.block['id'] !== 'string') return [];
    return [{ id: block.block['id'], name: text(block.block['name']) }];
  });
}

/** The id of the call that an entry answers. */
export function answeredCall({ type, message }: Entry): string | undefined {
  if (type !== 'message' || !isObject(message) || message['role'] !== 'toolResult') return undefined;
  return typeof message['toolCallId'] === 'string' ? message['toolCallId'] : undefined;
}

/** The text of any content for people: titles, lists, search. Images have no text, wherever they are stored. */
export function contentText(content: unknown): string {
  const texts: string[] = [];
  for (const block of readBlocks(content))
    if (block.type === 'text' && block.forImage !== true) texts.push(block.text);
  return texts.join('\n');
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
