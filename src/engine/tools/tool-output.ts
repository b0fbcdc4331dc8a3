import { truncateToolText } from '../../context/truncate.ts';
import { failure } from '../../messages/failure.ts';
import type { ImageBlock, TextBlock } from '../../transcript/entry.ts';
import { isObject } from '../../transcript/json.ts';

type Block = TextBlock | ImageBlock;

export interface ReadOutput {
  readonly content: readonly Block[];
  readonly isError: boolean;
}

const MAX_BLOCKS = 100;
/** All images of one result together, in base64: a stored record has at most 16 MiB. */
const MAX_IMAGE_CHARS = 10_000_000;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
const DATA_URL_PREFIX = /^data:[^,]{0,100},/;

/** What a tool returned as blocks that can be stored and sent. Throws for what is neither text, JSON nor an image. */
export function readOutput(output: unknown, maxChars: number): ReadOutput {
  if (typeof output === 'string') return { content: [textBlock(output, maxChars)], isError: false };
  if (!isObject(output)) return { content: [textBlock(jsonOf(output), maxChars)], isError: false };
  const isError = output['isError'] === true;
  const { content } = output;
  if (Array.isArray(content)) return { content: readBlocks(content, maxChars), isError };
  const { isError: _, ...rest } = output;
  return { content: [textBlock(jsonOf(isError ? rest : output), maxChars)], isError };
}

/** The text of an exception, whatever was thrown. */
export function thrownText(error: unknown, maxChars: number): string {
  const text = error instanceof Error ? error.message : printed(error);
  return cap(text, maxChars);
}

function readBlocks(blocks: readonly unknown[], maxChars: number): Block[] {
  if (blocks.length > MAX_BLOCKS)
    throw failure('LIMIT_EXCEEDED', 'tool.tooMuchOutput', { limit: 'blocks', max: MAX_BLOCKS });
  let charsLeft = maxChars;
  let imageChars = 0;
  return blocks.map((block) => {
    if (isObject(block) && block['type'] === 'text' && typeof block['text'] === 'string') {
      const text = textBlock(block['text'], Math.max(charsLeft, 1));
      charsLeft -= text.text.length;
      return text;
    }
    const image = readImage(block);
    imageChars += image.data.length;
    if (imageChars > MAX_IMAGE_CHARS)
      throw failure('LIMIT_EXCEEDED', 'tool.tooMuchOutput', { limit: 'images', max: MAX_IMAGE_CHARS });
    return image;
  });
}

/** A provider refuses a request with a broken image, so it must not be stored. */
function readImage(block: unknown): ImageBlock {
  if (!isObject(block) || block['type'] !== 'image' || typeof block['data'] !== 'string')
    throw failure('INVALID_INPUT', 'tool.badOutput');
  const { mimeType = 'image/png' } = block;
  const data = block['data'].replace(DATA_URL_PREFIX, '');
  const isImage = typeof mimeType === 'string' && mimeType.startsWith('image/');
  if (data.length > MAX_IMAGE_CHARS)
    throw failure('LIMIT_EXCEEDED', 'tool.tooMuchOutput', { limit: 'images', max: MAX_IMAGE_CHARS });
  if (!isImage || !BASE64.test(data)) throw failure('INVALID_INPUT', 'tool.badImage');
  return { type: 'image', data, mimeType };
}

function jsonOf(value: unknown): string {
  if (value === undefined) return '';
  try {
    return JSON.stringify(value) ?? '';
  } catch (error) {
    // A cycle, a bigint, a `toJSON` that throws, or a value that is nested too deeply.
    const reason = error instanceof Error ? error.message : printed(error);
    throw failure('INVALID_INPUT', 'tool.notJson', { reason: reason.split('\n', 1)[0] ?? '' });
  }
}

function textBlock(text: string, maxChars: number): TextBlock {
  return { type: 'text', text: text === '' ? '(no output)' : cap(text, maxChars) };
}

function cap(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  // A slice would keep the whole text in memory for as long as the session is cached.
  return Buffer.from(truncateToolText(text, { maxChars }), 'utf16le').toString('utf16le');
}

function printed(value: unknown): string {
  try {
    return String(value);
  } catch {
    return 'unknown error'; // an object without a prototype, or a `toString` that throws
  }
}
