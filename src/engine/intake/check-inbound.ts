import { createHash } from 'node:crypto';
import { RepriseError } from '../../errors.ts';
import { isObject } from '../../transcript/json.ts';
import { QUEUE_MODES } from '../session-settings.ts';
import { bodyOf, type InboundMessage } from './inbound.ts';

/** What comes from outside may be anything: whatever passes here can be accepted and run. */
export function checkInboundMessage(message: unknown): asserts message is InboundMessage {
  if (!isObject(message)) throw new RepriseError('INVALID_INPUT', 'a message is an object');
  const fault = (name: string, what: string): RepriseError =>
    new RepriseError('INVALID_INPUT', `${name} is ${what}`, { details: { field: name } });
  for (const name of ['text', 'channel']) {
    if (typeof message[name] !== 'string') throw fault(name, 'a text');
  }
  if (message['channel'] === '') throw fault('channel', 'a name');
  for (const name of TEXT_FIELDS) {
    const value = message[name];
    if (value !== undefined && typeof value !== 'string') throw fault(name, 'a text');
  }
  const { peerKind, sender, queue } = message;
  if (peerKind !== undefined && !PEER_KINDS.includes(peerKind as string))
    throw fault('peerKind', PEER_KINDS.join(', '));
  if (sender !== undefined && !(isObject(sender) && typeof sender['id'] === 'string'))
    throw fault('sender', '{id, name?}');
  if (queue !== undefined && !QUEUES.includes(queue as string))
    throw fault('queue', `one of ${QUEUES.join(', ')}`);
  bodyOf(message as unknown as InboundMessage);
}

const TEXT_FIELDS =
  'agentId account guild peer thread messageId sessionKey sessionId idempotencyKey context'.split(' ');
const PEER_KINDS = ['direct', 'group', 'channel'];
const QUEUES: readonly string[] = [...QUEUE_MODES, 'reject'];

/**
 * The caller's own key covers what it sent. A channel's message id is enough by itself: channels deliver again with
 * other words around it, and it is the same message.
 */
export function inboundKey(message: InboundMessage): { idempotencyKey?: string; digest?: string } {
  const { idempotencyKey, messageId, peerKind = 'direct', peer, thread } = message;
  if (idempotencyKey !== undefined)
    return { idempotencyKey: `key:${idempotencyKey}`, digest: digestOf(message) };
  if (messageId === undefined) return {};
  const key = `message:${JSON.stringify([peerKind, peer ?? null, thread ?? null, messageId])}`;
  return { idempotencyKey: key, digest: key };
}

function digestOf({ text, images, context }: InboundMessage): string {
  return createHash('sha256')
    .update(JSON.stringify([text, images ?? [], context ?? '']))
    .digest('hex');
}
