import { createHash } from 'node:crypto';
import type { RepriseError } from '../../errors.ts';
import { failure } from '../../messages/failure.ts';
import type { Expected } from '../../messages/params/params-settings.ts';
import { isObject } from '../../transcript/json.ts';
import { QUEUE_MODES } from '../session-settings.ts';
import { wrongValue } from '../settings-patch.ts';
import { bodyOf, type InboundMessage } from './inbound.ts';

/** Input of a channel can have any shape. A message that passes this check can be accepted and run. */
export function checkInboundMessage(message: unknown): asserts message is InboundMessage {
  if (!isObject(message)) throw failure('INVALID_INPUT', 'message.notObject');
  const fault = (name: string, ...expected: readonly Expected[]): RepriseError =>
    wrongValue(name, message[name], expected);
  for (const name of ['text', 'channel']) {
    if (typeof message[name] !== 'string') throw fault(name, { is: 'text' });
  }
  if (message['channel'] === '') throw fault('channel', { is: 'nonEmptyText' });
  for (const name of TEXT_FIELDS) {
    const value = message[name];
    if (value !== undefined && typeof value !== 'string') throw fault(name, { is: 'text' });
  }
  const { peerKind, sender, queue } = message;
  if (peerKind !== undefined && !PEER_KINDS.includes(peerKind as string))
    throw fault('peerKind', { is: 'oneOf', values: PEER_KINDS });
  if (sender !== undefined && !(isObject(sender) && typeof sender['id'] === 'string'))
    throw fault('sender', { is: 'object', names: ['id', 'name'] });
  if (queue !== undefined && !QUEUES.includes(queue as string))
    throw fault('queue', { is: 'oneOf', values: QUEUES });
  bodyOf(message as unknown as InboundMessage);
}

const TEXT_FIELDS =
  'agentId account guild peer thread messageId sessionKey sessionId idempotencyKey context'.split(' ');
const PEER_KINDS = ['direct', 'group', 'channel'];
const QUEUES: readonly string[] = [...QUEUE_MODES, 'reject'];

/**
 * An idempotency key of the caller covers the whole request. A channel's message id is enough by itself: a channel may
 * deliver the same message again with other fields.
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
