import { agentOfKey } from '../../keys/session-key.ts';
import type { ConvlogLine } from '../../store/port/convlog.ts';
import type { InboxItem } from '../../store/port/inbox.ts';
import { isObject } from '../../transcript/json.ts';
import { type InboundMessage, originOf } from '../intake/inbound.ts';

/** The id of a chat. The same chat id under different accounts of a channel means different chats. */
export function chatOf({ account, peer }: { readonly account?: unknown; readonly peer?: unknown }): string {
  const chat = typeof peer === 'string' && peer !== '' ? peer : 'main';
  return typeof account === 'string' && account !== '' ? `${account}:${chat}` : chat;
}

/** The log line of a received message, also of a command. */
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

/** The log line of an answer. @returns `undefined` if the message came from no channel, or the answer has no text. */
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
