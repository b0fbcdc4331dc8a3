import { escapeKeyPart } from './escape.ts';
import { DEFAULT_MAIN_KEY, formatSessionKey } from './session-key.ts';

/** Which conversations of one person share a session. */
export type DmScope = 'main' | 'per-peer' | 'per-channel-peer' | 'per-account-channel-peer';
export type PeerKind = 'direct' | 'group' | 'channel';

export interface MainKeyInput {
  readonly agentId: string;
  readonly mainKey?: string;
}

export interface PeerKeyInput extends MainKeyInput {
  readonly channel: string;
  readonly peerKind: PeerKind;
  readonly peerId: string;
  readonly account?: string;
  readonly dmScope?: DmScope;
}

export interface GroupHistoryKeyInput {
  readonly channel: string;
  readonly accountId: string;
  readonly peerKind: PeerKind;
  readonly peerId: string;
}

export function buildAgentMainSessionKey({ agentId, mainKey = DEFAULT_MAIN_KEY }: MainKeyInput): string {
  return formatSessionKey({ kind: 'main', agentId, mainKey });
}

export function buildAgentPeerSessionKey(input: PeerKeyInput): string {
  const { agentId, channel, peerKind, peerId, account, dmScope = 'per-channel-peer' } = input;
  if (peerKind !== 'direct') return formatSessionKey({ kind: peerKind, agentId, channel, id: peerId });
  switch (dmScope) {
    case 'main':
      return buildAgentMainSessionKey(input);
    case 'per-peer':
      return formatSessionKey({ kind: 'direct', agentId, peer: peerId });
    case 'per-channel-peer':
      return formatSessionKey({ kind: 'direct', agentId, channel, peer: peerId });
    case 'per-account-channel-peer':
      return formatSessionKey({
        kind: 'direct',
        agentId,
        channel,
        peer: peerId,
        ...(account !== undefined && { account }),
      });
  }
}

/** `<channel>:<accountId>:<peerKind>:<peerId>`: the history of a group, shared by all agents that read it. */
export function buildGroupHistoryKey({ channel, accountId, peerKind, peerId }: GroupHistoryKeyInput): string {
  return [channel, accountId, peerKind, peerId].map(escapeKeyPart).join(':');
}
