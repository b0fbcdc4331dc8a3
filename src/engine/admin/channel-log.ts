import { agentOfKey } from '../../keys/session-key.ts';
import type { ConvlogLine } from '../../store/port/convlog.ts';
import type { InboxItem } from '../../store/port/store.ts';
import { isObject } from '../../transcript/json.ts';
import { type InboundMessage, originOf } from '../intake/inbound.ts';

/** A chat of a channel: accounts of one channel keep their chats apart. */
export function chatOf({ account, peer }: { readonly account?: unknown; readonly peer?: unknown }): string {
  const chat = typeof peer === 'string' && peer !== '' ? peer : 'main';
  return typeof account === 'string' && account !== '' ? `${account}:${chat}` : chat;
}

/** What arrived, as it was said: commands too. */
export function inboundLine(message: InboundMessage, sessionKey: string, at: Date): ConvlogLine {
  const { sender } = originOf(message);
  const { channel, text, system, messageId } = message;
  return {
    agentId: agentOfKey(sessionKey),
    channelType: channel,
    channelId: chatOf(message),
    role: system === true ? 'system' : 'user',
    content: text,
    ts: at.toISOString(),
    ...(isObject(sender) && { sender: sender as { id: string; name?: string } }),
    ...(messageId !== undefined && { messageId }),
  };
}

/** What was answered on the channel the message came from; undefined where it came from none, or there is nothing to say. */
export function replyLine({ body, sessionKey, sessionId }: InboxItem, text: string): ConvlogLine | undefined {
  const { from } = body;
  if (!isObject(from) || typeof from['channel'] !== 'string' || text === '') return undefined;
  return {
    agentId: agentOfKey(sessionKey),
    channelType: from['channel'],
    channelId: chatOf(from),
    role: 'assistant',
    content: text,
    sessionId,
  };
}
