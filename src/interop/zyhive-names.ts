import type { RouteInput } from '../keys/resolve.ts';
import { parseSessionKey } from '../keys/session-key.ts';
import type { ConvlogSender } from '../store/port/convlog.ts';

/*
 * ZyHive has no session keys. A channel log is named `<channel type>-<chat>`, and so is the session of a Telegram chat;
 * who wrote a line is one text, `Name (id)` on Telegram and the id alone on web channels.
 */

export function zyhiveChannelId(channelType: string, chat: string): string {
  return `${channelType}-${chat}`;
}

/** The chat of a channel id. Earlier exports of Reprise wrote the chat alone. */
export function chatOfZyhive(channelType: string, channelId: string): string {
  const prefix = zyhiveChannelId(channelType, '');
  return channelId.startsWith(prefix) && channelId !== prefix ? channelId.slice(prefix.length) : channelId;
}

export function formatZyhiveSender({ id, name }: ConvlogSender): string {
  return name === undefined ? id : `${name} (${id})`;
}

export function parseZyhiveSender(text: string): ConvlogSender | undefined {
  const [, name, id] = /^(.*) \(([^()]+)\)$/s.exec(text) ?? [];
  if (id !== undefined) return { id, ...(name !== undefined && name !== '' && { name }) };
  return text === '' ? undefined : { id: text };
}

/** Telegram's own ids of chats: groups and channels are negative. */
const TELEGRAM_SESSION = /^telegram-(-?\d+)$/;

/** Where the messages of a session come from, by its id. */
export function routeOfZyhive(sessionId: string, agentId: string | undefined): RouteInput | undefined {
  const [, peer] = TELEGRAM_SESSION.exec(sessionId) ?? [];
  if (peer === undefined) return undefined;
  return { agentId, channel: 'telegram', peer, peerKind: peer.startsWith('-') ? 'group' : 'direct' };
}

/** The id by which ZyHive finds the session of a conversation; undefined: it makes a new session instead. */
export function zyhiveIdOfKey(key: string): string | undefined {
  const parts = parseSessionKey(key);
  if ((parts.kind !== 'direct' && parts.kind !== 'group') || parts.threads !== undefined) return undefined;
  if (parts.kind === 'direct' && parts.account !== undefined) return undefined;
  const id = `${parts.channel}-${parts.kind === 'direct' ? parts.peer : parts.id}`;
  return routeOfZyhive(id, parts.agentId)?.peerKind === parts.kind ? id : undefined;
}
