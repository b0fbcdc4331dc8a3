import { imageDimensions, isBase64 } from './image-dimensions.ts';
import { isRecord, quote } from './json.ts';
import type { Report } from './violation.ts';

const MEDIA_TYPES = new Set<unknown>(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);
const MAX_IMAGES = 100;
const MAX_BASE64 = 5 * 1024 * 1024;
const MAX_SIDE = 8000;
const MAX_SIDE_OF_MANY = 2000;
const MANY = 20;

export interface AnthropicImage {
  readonly at: string;
  readonly source: unknown;
}

/** Checks all images of a request together, because the size limit of one depends on their number. */
export function judgeAnthropicImages(images: readonly AnthropicImage[], report: Report): void {
  if (images.length > MAX_IMAGES) {
    report('too-many-images', 'messages', `${images.length} images, at most ${MAX_IMAGES} per request`);
  }
  const maxSide = images.length > MANY ? MAX_SIDE_OF_MANY : MAX_SIDE;
  for (const image of images) judgeImage(image, maxSide, report);
}

function judgeImage({ at, source }: AnthropicImage, maxSide: number, report: Report): void {
  if (!isRecord(source) || source.type !== 'base64' || typeof source.data !== 'string') {
    report('shape', at, 'an image needs a source {type: "base64", media_type, data}');
    return;
  }
  const { media_type: mediaType, data } = source;
  if (!MEDIA_TYPES.has(mediaType)) {
    report(
      'image-media-type',
      at,
      "media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'",
    );
  }
  if (data.length > MAX_BASE64) {
    report(
      'image-too-many-bytes',
      at,
      `image exceeds 5 MB maximum: ${data.length} bytes > ${MAX_BASE64} bytes`,
    );
  }
  if (!isBase64(data)) {
    report('image-base64', at, 'image data is not valid base64');
    return;
  }
  const header = imageDimensions(data);
  if (!header) {
    report('image-unreadable', at, 'Could not process image');
    return;
  }
  if (header.width > maxSide || header.height > maxSide) {
    const size = `${header.width}x${header.height}`;
    report('image-too-many-pixels', at, `${size} px, at most ${maxSide}x${maxSide} in this request`);
  }
  if (MEDIA_TYPES.has(mediaType) && header.mediaType !== mediaType) {
    const declared = quote(String(mediaType));
    report(
      'image-media-type-mismatch',
      at,
      `declared ${declared}, but the image appears to be ${header.mediaType}`,
    );
  }
}
