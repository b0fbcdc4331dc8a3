import type { PeerKind } from './build.ts';
import { DEFAULT_AGENT_ID, parseAgentId } from './ids.ts';

/** Chooses the agent that answers: a binding applies if every field it names is equal. */
export interface Binding {
  readonly agentId: string;
  readonly match: {
    readonly channel?: string;
    readonly account?: string;
    readonly guild?: string;
    readonly peer?: { readonly kind?: PeerKind; readonly id: string };
  };
}

export interface BindingSubject {
  readonly channel?: string | undefined;
  readonly account?: string | undefined;
  readonly guild?: string | undefined;
  readonly peer?: string | undefined;
  readonly peerKind?: PeerKind | undefined;
}

/** The most specific binding wins (peer > guild > account > channel > default); among equal ones, the first. */
export function resolveBoundAgent(
  subject: BindingSubject,
  { bindings = [], defaultAgent = DEFAULT_AGENT_ID }: BoundAgentOptions = {},
): string {
  let best: Binding | undefined;
  for (const binding of bindings) {
    if (matches(binding.match, subject) && (!best || rank(binding.match) > rank(best.match))) best = binding;
  }
  return parseAgentId(best?.agentId ?? defaultAgent);
}

export interface BoundAgentOptions {
  readonly bindings?: readonly Binding[];
  readonly defaultAgent?: string;
}

function matches(match: Binding['match'], subject: BindingSubject): boolean {
  const { channel, account, guild, peer } = match;
  return (
    (channel === undefined || channel === subject.channel) &&
    (account === undefined || account === subject.account) &&
    (guild === undefined || guild === subject.guild) &&
    (peer === undefined ||
      (peer.id === subject.peer && (peer.kind === undefined || peer.kind === (subject.peerKind ?? 'direct'))))
  );
}

function rank({ channel, account, guild, peer }: Binding['match']): number {
  if (peer !== undefined) return 4;
  if (guild !== undefined) return 3;
  if (account !== undefined) return 2;
  return channel === undefined ? 0 : 1;
}
