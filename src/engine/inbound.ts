import { RepriseError } from '../errors.ts';
import type { InboxItem, NewEntry } from '../store/store.ts';
import type { ImageBlock, TextBlock } from '../transcript/entry.ts';
import { isObject, type JsonObject } from '../transcript/json.ts';

/** What a person or a program says to a session. */
export interface UserInput {
  readonly text: string;
  /** Base64 with its type, or a data URL. */
  readonly images?: readonly (string | { readonly data: string; readonly mimeType: string })[];
  /** More for the model to know in this turn; stored beside the message. */
  readonly context?: string;
}

const DATA_URL = /^data:([\w.+-]+\/[\w.+-]+);base64,(.*)$/s;

/** The body of an accepted message: checked before it is durable, so that whatever is accepted can run. */
export function bodyOf(input: string | UserInput): JsonObject {
  const { text, images = [], context } = typeof input === 'string' ? { text: input } : input;
  if (typeof text !== 'string' || (text.trim() === '' && images.length === 0))
    throw new RepriseError('INVALID_INPUT', 'a message has text or an image');
  const blocks = images.map(readImage);
  return {
    text,
    ...(blocks.length > 0 && { images: blocks }),
    ...(context !== undefined && context !== '' && { context }),
  };
}

function readImage(image: string | { readonly data: string; readonly mimeType: string }): JsonObject {
  if (typeof image !== 'string') return { data: image.data, mimeType: image.mimeType };
  const [, mimeType, data] = DATA_URL.exec(image) ?? [];
  if (mimeType !== undefined && data !== undefined) return { data, mimeType };
  throw new RepriseError('INVALID_INPUT', 'an image is {data, mimeType} or a base64 data URL');
}

/** The same entries each time, so that a second try has the same body as the first. */
export function entriesOf({ body, createdAt }: InboxItem): NewEntry[] {
  const { text, images, context } = body;
  const blocks: (TextBlock | ImageBlock)[] = [];
  if (typeof text === 'string' && text !== '') blocks.push({ type: 'text', text });
  if (Array.isArray(images)) {
    for (const image of images) {
      if (!isObject(image)) continue;
      blocks.push({ type: 'image', data: String(image['data']), mimeType: String(image['mimeType']) });
    }
  }
  const content = blocks.length === 1 && typeof text === 'string' && text !== '' ? text : blocks;
  const message = { role: 'user', content, timestamp: Date.parse(createdAt) };
  const user = { type: 'message', message };
  if (typeof context !== 'string') return [user];
  return [{ type: 'custom_message', customType: 'context', content: context, display: false }, user];
}
