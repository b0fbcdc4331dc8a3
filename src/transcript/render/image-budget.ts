import { type ImageSize, imageSize } from './image-size.ts';
import type { ImageLimits } from './target.ts';

export interface ImagePart {
  readonly type: 'image';
  readonly data: string;
  readonly mimeType: string;
}

interface StoredImage {
  readonly data: string;
  readonly mimeType: string;
  /** The stored block, by identity: an image is measured once, however often its history is projected. */
  readonly block: object;
}

const sizes = new WeakMap<object, ImageSize | null>();

/**
 * J6: admits images while the request has room, and replaces the others with a text. Images are decided in order and
 * never reconsidered, so a later image cannot change an earlier request (J7). To prefer new images, hide old ones
 * with a `context_edit`.
 */
export function createImageBudget(limits: ImageLimits): (image: StoredImage) => ImagePart | string {
  let count = 0;
  let total = 0;
  let largest = 0;
  return ({ data, mimeType, block }) => {
    const size = measure(block, data, mimeType);
    if (size === null) return leftOut(mimeType, 'not a readable PNG, JPEG, GIF or WebP image');
    const side = Math.max(size.width, size.height);
    const what = `${mimeType}, ${size.width}x${size.height}`;
    if (limits.maxCount === 0) return leftOut(what, 'this request has no images');
    if (side > limits.maxSide) return leftOut(what, `over ${limits.maxSide} pixels`);
    if (data.length > limits.maxBytes) return leftOut(what, `over ${limits.maxBytes} bytes`);
    if (total + data.length > limits.maxTotalBytes) return leftOut(what, 'the request is full');
    if (count >= limits.maxCount) return leftOut(what, `over ${limits.maxCount} images`);
    if (count >= limits.many && Math.max(largest, side) > limits.maxSideOfMany) {
      return leftOut(what, `over ${limits.many} images of more than ${limits.maxSideOfMany} pixels`);
    }
    count++;
    total += data.length;
    largest = Math.max(largest, side);
    return { type: 'image', data, mimeType };
  };
}

function measure(block: object, data: string, mimeType: string): ImageSize | null {
  let size = sizes.get(block);
  if (size === undefined) {
    size = imageSize(data, mimeType) ?? null;
    sizes.set(block, size);
  }
  return size;
}

function leftOut(what: string, why: string): string {
  return `[image left out: ${what}; ${why}]`;
}
