import { failure } from '../messages/failure.ts';
import { quoted } from '../messages/quoted.ts';
import type { TextBlock } from './entry.ts';
import { isObject, type JsonObject } from './json.ts';

/**
 * Large images and tool texts are stored beside the session, and a short text in the line references them
 * (docs/format.md, Blobs). Readers that do not know this see a text. A part that could not be restored exactly stays
 * in its line.
 */

/** The reference that a line contains for a large part. */
export interface BlobReference extends TextBlock {
  /** `sha256:` and 64 hex digits. */
  readonly blob: string;
  readonly bytes: number;
  /** `text/plain` for text, otherwise the type of the image. */
  readonly mimeType: string;
  /** The image's `data` was not plain base64: the blob contains that text. */
  readonly blobEncoding?: 'utf8';
}

/** Larger parts are moved out of their line. */
const THRESHOLD = 64 * 1024;
const PREVIEW_BYTES = 2048;
/** Maximum nesting of content inside content, deeper than in any format, so that no input can overflow the stack. */
const MAX_NESTING = 8;
const NAME = /^sha256:[0-9a-f]{64}$/;
const IMAGE_TYPE = /^image\/[\w.+-]{1,64}$/;
const TEXT_TYPE = 'text/plain';

/**
 * The entry without its large parts, or the same entry if it has no large parts. `keep` receives the bytes of each
 * and returns its name.
 */
export function extractBlobs<E extends JsonObject>(entry: E, keep: (bytes: Uint8Array) => string): E {
  return changeBlocks(entry, (block, isTool) => {
    if (block['type'] === 'image') return extractImage(block, keep);
    return isTool && block['type'] === 'text' ? extractText(block, keep) : block;
  });
}

/** The names of all blobs that the entries reference, each once. */
export function blobNames(entries: Iterable<JsonObject>): Set<string> {
  return new Set(blobSizes(entries).keys());
}

/** The same names, and the size of each by its line. */
export function blobSizes(entries: Iterable<JsonObject>): Map<string, number> {
  const sizes = new Map<string, number>();
  for (const entry of entries) for (const { blob, bytes } of blobReferences(entry)) sizes.set(blob, bytes);
  return sizes;
}

/** The references to large parts in an entry. */
export function blobReferences(entry: JsonObject): BlobReference[] {
  const references: BlobReference[] = [];
  changeBlocks(entry, (block) => {
    if (isBlobReference(block)) references.push(block);
    return block;
  });
  return references;
}

/** Restores entries from blobs by their names. For a missing blob the preview remains. */
export function hydrateBlobs<E extends JsonObject>(
  entries: readonly E[],
  blobs: ReadonlyMap<string, Uint8Array>,
): E[] {
  return entries.map((entry) =>
    changeBlocks(entry, (block) => {
      if (!isBlobReference(block)) return block;
      const bytes = blobs.get(block.blob);
      return bytes === undefined ? block : restore(block, bytes);
    }),
  );
}

/** Converts previews of lost blobs to ordinary text; `lostBlob` records what they referenced. */
export function releaseBlobs<E extends JsonObject>(entries: readonly E[]): E[] {
  return entries.map((entry) =>
    changeBlocks(entry, (block) =>
      isBlobReference(block) ? replaceKeys(block, { blob: { lostBlob: block.blob } }) : block,
    ),
  );
}

export function isBlobReference(block: JsonObject): block is JsonObject & BlobReference {
  const { type, text, blob, bytes, mimeType, blobEncoding } = block;
  return (
    type === 'text' &&
    typeof text === 'string' &&
    typeof blob === 'string' &&
    NAME.test(blob) &&
    Number.isSafeInteger(bytes) &&
    typeof mimeType === 'string' &&
    (mimeType === TEXT_TYPE || IMAGE_TYPE.test(mimeType)) &&
    (blobEncoding === undefined || blobEncoding === 'utf8')
  );
}

/** The 64 hex digits of a name; only these may become a file name (I-12). */
export function blobHash(name: string): string {
  const [, hash] = /^(?:sha256:)?([0-9a-f]{64})$/.exec(name) ?? [];
  if (hash === undefined) throw failure('INVALID_INPUT', 'blob.badName', { name: quoted(name) });
  return hash;
}

type ChangeBlock = (block: JsonObject, isTool: boolean) => JsonObject;

/** Without a change, returns the same objects. */
function changeBlocks<E extends JsonObject>(entry: E, change: ChangeBlock): E {
  const { type, message, replacement } = entry as JsonObject;
  if (type === 'message' && isObject(message)) {
    const changed = changeContent(message, change, message['role'] === 'toolResult');
    return changed === message ? entry : { ...entry, message: changed };
  }
  if (type === 'context_edit' && isObject(replacement)) {
    const changed = changeContent(replacement, change, false);
    return changed === replacement ? entry : { ...entry, replacement: changed };
  }
  return type === 'custom_message' ? changeContent(entry, change, false) : entry;
}

function changeContent<T extends JsonObject>(holder: T, change: ChangeBlock, isTool: boolean, depth = 0): T {
  const content: unknown = holder['content'];
  if (!Array.isArray(content) || depth >= MAX_NESTING) return holder;
  let isSame = true;
  const blocks = content.map((block: unknown) => {
    if (!isObject(block)) return block;
    const changed = change(block, isTool);
    const result = changed === block ? changeContent(block, change, isTool, depth + 1) : changed;
    isSame &&= result === block;
    return result;
  });
  return isSame ? holder : { ...holder, content: blocks };
}

function extractImage(block: JsonObject, keep: (bytes: Uint8Array) => string): JsonObject {
  const { data, mimeType } = block;
  if (typeof data !== 'string' || data.length <= THRESHOLD) return block;
  if (typeof mimeType !== 'string' || !IMAGE_TYPE.test(mimeType)) return block;
  if (['text', 'blob', 'bytes', 'blobEncoding'].some((key) => key in block)) return block;
  const decoded = Buffer.from(data, 'base64');
  const isPlain = decoded.toString('base64') === data;
  if (!isPlain && !data.isWellFormed()) return block;
  const bytes = isPlain ? decoded : Buffer.from(data);
  if (bytes.length <= THRESHOLD) return block;
  return replaceKeys(block, {
    type: { type: 'text' },
    data: {
      text: `[${mimeType}, ${sizeText(bytes.length)}]`,
      blob: keep(bytes),
      bytes: bytes.length,
      ...(!isPlain && { blobEncoding: 'utf8' }),
    },
  });
}

/** Text with half a surrogate pair has no bytes in UTF-8: it stays in its line, where JSON can represent it. */
function extractText(block: JsonObject, keep: (bytes: Uint8Array) => string): JsonObject {
  const { text } = block;
  if (typeof text !== 'string' || text.length * 3 <= THRESHOLD) return block;
  if (Buffer.byteLength(text) <= THRESHOLD || !text.isWellFormed()) return block;
  if (['blob', 'bytes', 'mimeType', 'blobEncoding'].some((key) => key in block)) return block;
  const bytes = Buffer.from(text);
  return replaceKeys(block, {
    text: {
      text: `${firstBytes(text)}\n[the first 2 KiB of ${sizeText(bytes.length)}]`,
      blob: keep(bytes),
      bytes: bytes.length,
      mimeType: TEXT_TYPE,
    },
  });
}

function restore(block: BlobReference & JsonObject, { buffer, byteOffset, length }: Uint8Array): JsonObject {
  const bytes = Buffer.from(buffer, byteOffset, length);
  if (block.mimeType === TEXT_TYPE)
    return replaceKeys(block, { text: { text: bytes.toString() }, blob: {}, bytes: {}, mimeType: {} });
  return replaceKeys(block, {
    type: { type: 'image' },
    text: { data: bytes.toString(block.blobEncoding ?? 'base64') },
    blob: {},
    bytes: {},
    blobEncoding: {},
  });
}

/** Replaces one key by others in the same position, so that the order can be restored. */
function replaceKeys(block: JsonObject, changes: Readonly<Record<string, JsonObject>>): JsonObject {
  const entries = Object.entries(block).flatMap(([key, value]) =>
    Object.hasOwn(changes, key) ? Object.entries(changes[key] ?? {}) : [[key, value] as const],
  );
  return Object.fromEntries(entries);
}

/** The first 2 KiB of a text, cut between two code points. */
function firstBytes(text: string): string {
  const bytes = Buffer.from(text.slice(0, PREVIEW_BYTES));
  let end = PREVIEW_BYTES;
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.toString('utf8', 0, end);
}

function sizeText(bytes: number): string {
  return bytes < 1_000_000 ? `${Math.round(bytes / 1000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}
