import { parseSessionKey } from '../../keys/session-key.ts';

/** One rule for all conversations, and exceptions by kind of chat and channel. */
export interface ChatRules<T> {
  readonly all?: T | undefined;
  readonly byType?: { readonly direct?: T; readonly group?: T; readonly thread?: T };
  readonly byChannel?: Readonly<Record<string, T>>;
}

/** @returns the rule of the channel, else of the kind of chat, else the general one. */
export function ruleForChat<T>(
  sessionKey: string,
  { all, byType = {}, byChannel = {} }: ChatRules<T>,
  channel?: string,
): T | undefined {
  const parts = parseSessionKey(sessionKey);
  const from = channel ?? ('channel' in parts ? parts.channel : undefined);
  if (from !== undefined && Object.hasOwn(byChannel, from)) return byChannel[from];
  if (parts.kind !== 'global' && parts.threads !== undefined) return byType.thread ?? all;
  const isGroup = parts.kind === 'group' || parts.kind === 'channel';
  return (isGroup ? byType.group : byType.direct) ?? all;
}
