import type { PeerKind } from '../../keys/build.ts';
import { failure } from '../../messages/failure.ts';
import type { InboxItem, InboxReceipt } from '../../store/port/inbox.ts';
import type { NewEntry } from '../../store/port/store.ts';
import type { ImageBlock, TextBlock } from '../../transcript/entry.ts';
import { isObject, type JsonObject } from '../../transcript/json.ts';
import { type QueueMode, type QueueTicket, ticketOf } from '../schedule/queue.ts';

/** A message of a person or a program to a session. */
export interface UserInput {
  readonly text: string;
  /** Base64 with its type, or a data URL. */
  readonly images?: readonly (string | { readonly data: string; readonly mimeType: string })[];
  /** Text that the model also reads in this turn; stored beside the message. */
  readonly context?: string;
}

export interface Sender {
  readonly id: string;
  readonly name?: string;
}

/** A message as a channel delivers it. Routing finds its session, unless it names one. */
export interface InboundMessage extends UserInput {
  /** telegram, discord, web, cli, … Message ids and idempotency keys are unique within a channel. */
  readonly channel: string;
  readonly agentId?: string;
  readonly account?: string;
  readonly guild?: string;
  /** The chat: a person, a group or a channel, as `peerKind` says. */
  readonly peer?: string;
  readonly peerKind?: PeerKind;
  readonly thread?: string;
  /** Who wrote it; in a direct chat the peer, if unset. */
  readonly sender?: Sender;
  /** The channel's id of the message. A second delivery returns the first receipt. */
  readonly messageId?: string;
  /** In a group: whether the message mentions the agent. */
  readonly mentioned?: boolean;
  /** An event that no person wrote. The agent reads it, but it does not count as activity of the session. */
  readonly system?: boolean;
  readonly sessionKey?: string;
  readonly sessionId?: string;
  readonly idempotencyKey?: string;
  /** The user that a session belongs to if this message creates it. */
  readonly owner?: string;
  /** For this message; unset: the mode of the session or the configuration. `reject`: SESSION_BUSY instead of waiting. */
  readonly queue?: QueueMode | 'steer+backlog' | 'reject';
}

/** Limits of one message, image data included. Longer input belongs into a file. */
const MAX_TEXT_CHARS = 1_000_000;
const MAX_IMAGES = 20;
const MAX_SENDER_CHARS = 60;

const CONTEXT = 'context';
const DATA_URL = /^data:([\w.+-]+\/[\w.+-]+);base64,(.*)$/s;

/** The body of an accepted message. Checked before it is stored, so that every accepted message can run. */
export function bodyOf(input: string | UserInput): JsonObject {
  const { text, images = [], context } = typeof input === 'string' ? { text: input } : input;
  if (typeof text !== 'string' || (text.trim() === '' && images.length === 0))
    throw failure('INVALID_INPUT', 'message.empty');
  atMost('text', text.length, MAX_TEXT_CHARS);
  atMost('context', context?.length ?? 0, MAX_TEXT_CHARS);
  atMost('images', images.length, MAX_IMAGES);
  const blocks = images.map(readImage);
  return {
    text,
    ...(blocks.length > 0 && { images: blocks }),
    ...(context !== undefined && context !== '' && { context }),
  };
}

function atMost(part: 'text' | 'context' | 'images', length: number, max: number): void {
  if (length <= max) return;
  const details = { limit: part, max, length };
  throw failure('LIMIT_EXCEEDED', 'message.tooLong', { part, length, max }, { details });
}

function readImage(image: string | { readonly data: string; readonly mimeType: string }): JsonObject {
  if (typeof image !== 'string') return { data: image.data, mimeType: image.mimeType };
  const [, mimeType, data] = DATA_URL.exec(image) ?? [];
  if (mimeType !== undefined && data !== undefined) return { data, mimeType };
  throw failure('INVALID_INPUT', 'message.badImage');
}

/** Where a message came from. Stored with it, because its answer goes there. */
export function originOf(message: InboundMessage): JsonObject {
  const { channel, account, guild, peer, peerKind, thread, messageId } = message;
  const sender = message.sender ?? (peer === undefined || isShared(message) ? undefined : { id: peer });
  const origin = { channel, account, guild, peer, peerKind, thread, sender, messageId };
  return JSON.parse(JSON.stringify(origin)) as JsonObject; // leaves out what is undefined
}

export function isShared({ peerKind = 'direct' }: Pick<InboundMessage, 'peerKind'>): boolean {
  return peerKind !== 'direct';
}

/** The id of the person who wrote a message, if its channel or program named one. */
export function senderOf({ body: { from } }: Pick<InboxItem, 'body'>): string | undefined {
  const sender = isObject(from) ? from['sender'] : undefined;
  return isObject(sender) && typeof sender['id'] === 'string' ? sender['id'] : undefined;
}

/** Returns the same entries each time, so that a retry has the same body as the first attempt. */
export function entriesOf(item: InboxItem): NewEntry[] {
  const { text, images, context, system } = item.body;
  const said = typeof text === 'string' ? markSender(item, text) : '';
  // A note instead of a message: readers of the history, and the idle rule, must not take it for a person's message.
  if (system === true)
    return [note(typeof item.body['kind'] === 'string' ? item.body['kind'] : 'system_event', said)];
  const blocks: (TextBlock | ImageBlock)[] = [];
  if (said !== '') blocks.push({ type: 'text', text: said });
  if (Array.isArray(images)) {
    for (const image of images) {
      if (!isObject(image)) continue;
      blocks.push({ type: 'image', data: String(image['data']), mimeType: String(image['mimeType']) });
    }
  }
  const content = blocks.length === 1 && said !== '' ? said : blocks;
  const user = { type: 'message', message: { role: 'user', content, timestamp: ticketOf(item).at } };
  return typeof context === 'string' ? [note(CONTEXT, context), user] : [user];
}

/** The `context` of a message. It is appended together with the message, right before it. */
export function isContextNote({ type, customType }: { type: string; customType?: unknown }): boolean {
  return type === 'custom_message' && customType === CONTEXT;
}

function note(customType: string, content: string): NewEntry {
  return { type: 'custom_message', customType, content, display: false };
}

/** What the model reads in place of messages that were dropped at the cap: one line each. */
export function droppedNote(dropped: readonly InboxItem[]): NewEntry {
  const lines = dropped.map((item) => {
    const { text } = item.body;
    const line = typeof text === 'string' ? markSender(item, text).replace(/\s+/g, ' ').trim() : '';
    return `- ${[...line].slice(0, 120).join('')}`;
  });
  const count = lines.length === 1 ? '1 message was' : `${lines.length} messages were`;
  return note('dropped_messages', `[${count} dropped because too many waited]\n${lines.join('\n')}`);
}

/**
 * Adds the sender's name where several people write. Senders choose their names, so the name is cut to one short line
 * that cannot close the mark.
 */
function markSender(item: InboxItem, text: string): string {
  const { from } = item.body;
  if (!isObject(from) || !isObject(from['sender'])) return text;
  const isShared = from['peerKind'] !== undefined && from['peerKind'] !== 'direct';
  if (!isShared && ticketOf(item).mode !== 'collect') return text;
  const { name, id } = from['sender'];
  const shown = String(typeof name === 'string' && name !== '' ? name : id).replace(
    /[\p{C}\p{Z}[\]]+/gu,
    ' ',
  );
  return `[${[...shown.trim()].slice(0, MAX_SENDER_CHARS).join('')}] ${text}`;
}

export function withTicket(body: JsonObject, ticket: QueueTicket): JsonObject {
  return { ...body, queue: { ...ticket } };
}

/** The row of a message that was accepted just now, as the store has it. @returns `undefined` for an earlier message. */
export function newItem(
  { inboxId, sessionId, sessionKey, fresh }: InboxReceipt,
  body: JsonObject,
): InboxItem | undefined {
  if (!fresh) return undefined;
  const createdAt = new Date(ticketAt(body)).toISOString();
  return {
    inboxId,
    sessionId,
    sessionKey,
    state: 'accepted',
    class: 'message',
    body,
    attempts: 0,
    createdAt,
  };
}

function ticketAt({ queue }: JsonObject): number {
  return isObject(queue) && typeof queue['at'] === 'number' ? queue['at'] : 0;
}
