import type { HistoryRow } from 'reprise/client';
import type { Conversation } from '../stores/conversation.ts';
import type { Picture } from '../stores/pending.ts';

/** The images of a message as they were sent, also those that are kept beside it. */
export async function readImages(conversation: Conversation, { content }: HistoryRow): Promise<Picture[]> {
  const blocks = Array.isArray(content) ? (content as readonly Readonly<Record<string, unknown>>[]) : [];
  const images = blocks.map(async ({ type, data, mimeType, blob }, i): Promise<Picture[]> => {
    if (typeof mimeType !== 'string' || !mimeType.startsWith('image/')) return [];
    if (type === 'image' && typeof data === 'string') return [{ name: String(i), mimeType, data }];
    if (typeof blob !== 'string') return [];
    return [{ name: String(i), mimeType, data: base64(await conversation.remote.blob(blob)) }];
  });
  return (await Promise.all(images)).flat();
}

const PIECE = 0x8000;

function base64(bytes: Uint8Array): string {
  let text = '';
  // In pieces: a call takes only so many arguments.
  for (let at = 0; at < bytes.length; at += PIECE)
    text += String.fromCharCode(...bytes.subarray(at, at + PIECE));
  return btoa(text);
}
