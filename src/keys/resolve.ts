import { failure } from '../messages/failure.ts';
import { type BoundAgentOptions, resolveBoundAgent } from './bindings.ts';
import { buildAgentMainSessionKey, buildAgentPeerSessionKey, type DmScope, type PeerKind } from './build.ts';
import { parseAgentId } from './ids.ts';
import { formatSessionKey, parseSessionKey, type ThreadMarker } from './session-key.ts';

/** The part of an inbound message that determines its conversation. */
export interface RouteInput {
  readonly agentId?: string | undefined;
  readonly channel?: string | undefined;
  readonly account?: string | undefined;
  readonly guild?: string | undefined;
  readonly peer?: string | undefined;
  readonly peerKind?: PeerKind | undefined;
  readonly thread?: string | undefined;
  readonly threadMarker?: ThreadMarker | undefined;
  /** A key that the sender chose; it wins over everything else. */
  readonly sessionKey?: string | undefined;
}

export interface RoutingRules extends BoundAgentOptions {
  /** `global`: all senders share one conversation. */
  readonly scope?: 'global' | 'per-sender';
  /** Unset: `main` on the owner's own channels, `per-channel-peer` on all others. */
  readonly dmScope?: DmScope;
  readonly mainKey?: string;
  /** Channels on which only the owner can write. */
  readonly ownChannels?: readonly string[];
  /** One person with many accounts: `{ alice: ['telegram:123', 'discord:987'] }`, each `<channel>:<peer>`. */
  readonly identityLinks?: Readonly<Record<string, readonly string[]>>;
}

const OWN_CHANNELS: readonly string[] = ['cli', 'web'];

/** Whether only the owner can write on a channel. */
export function isOwnChannel(channel: string, { ownChannels = OWN_CHANNELS }: RoutingRules): boolean {
  return ownChannels.includes(channel);
}

/**
 * A thread wins over a group, a group over a direct chat. A thread's key is its parent's key plus the thread's id.
 */
export function resolveSessionKey(input: RouteInput, rules: RoutingRules = {}): string {
  if (input.sessionKey !== undefined) return formatSessionKey(parseSessionKey(input.sessionKey));
  if (rules.scope === 'global') return formatSessionKey({ kind: 'global' });
  const agentId = input.agentId === undefined ? resolveBoundAgent(input, rules) : parseAgentId(input.agentId);
  const base = resolveBase(input, { ...rules, agentId });
  if (input.thread === undefined) return base;
  const parts = parseSessionKey(base);
  if (parts.kind === 'global') return base;
  return formatSessionKey({
    ...parts,
    threads: [...(parts.threads ?? []), { marker: input.threadMarker ?? 'thread', id: input.thread }],
  });
}

function resolveBase(input: RouteInput, rules: RoutingRules & { readonly agentId: string }): string {
  const { channel, account, peer, peerKind = 'direct' } = input;
  const { agentId, mainKey } = rules;
  const main = { agentId, ...(mainKey !== undefined && { mainKey }) };
  if (peerKind !== 'direct') {
    if (channel === undefined || peer === undefined) {
      throw failure('INVALID_INPUT', 'route.needsPeer', { peerKind, channel: channel ?? null });
    }
    return buildAgentPeerSessionKey({ ...main, channel, peerKind, peerId: peer });
  }
  const own = channel === undefined || isOwnChannel(channel, rules);
  const dmScope = rules.dmScope ?? (own ? 'main' : 'per-channel-peer');
  if (dmScope === 'main' || channel === undefined) return buildAgentMainSessionKey(main);
  if (peer === undefined) {
    throw failure('INVALID_INPUT', 'route.needsPeer', { peerKind, channel });
  }
  return buildAgentPeerSessionKey({
    ...main,
    channel,
    peerKind,
    peerId: linkedPeer(`${channel}:${peer}`, peer, rules.identityLinks),
    dmScope,
    ...(account !== undefined && { account }),
  });
}

/**
 * A linked account gets the name of its person. A different sender whose id equals that name must not inherit the
 * conversation, so such ids (also with any number of leading `~`) get one more `~`; the mapping stays one to one.
 */
function linkedPeer(address: string, peer: string, links: RoutingRules['identityLinks'] = {}): string {
  let readsLikeName = false;
  const bare = peer.replace(/^~+/, '');
  for (const [name, addresses] of Object.entries(links)) {
    if (addresses.includes(address)) return name;
    readsLikeName ||= name === bare;
  }
  return readsLikeName ? `~${peer}` : peer;
}
