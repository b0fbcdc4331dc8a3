import type { Agents } from '../../src/exports/engine.ts';
import type { Random } from '../../testing/crash/random.ts';
import { say } from './spoken.ts';

/** A person, a group or a thread on one channel with one agent. */
export interface Conversation {
  readonly n: number;
  readonly agentId: string;
  readonly channel: string;
  readonly account?: string;
  readonly peerKind: 'direct' | 'group' | 'channel';
  readonly peer: string;
  readonly thread?: string;
  /** Those who write in it. */
  readonly senders: readonly [string, ...string[]];
}

/** One delivery of one message by a channel. */
export interface Delivery {
  readonly conversation: Conversation;
  readonly messageId: string;
  /** Of the message: unique, part of its text. A command has none. */
  readonly name?: string;
  readonly text: string;
  readonly sender: string;
  readonly queue?: Mode;
}

export type Mode =
  | 'steer'
  | 'followup'
  | 'queue'
  | 'collect'
  | 'steer-backlog'
  | 'steer+backlog'
  | 'interrupt';

const MODES: readonly [Mode, ...Mode[]] = [
  'steer',
  'followup',
  'queue',
  'collect',
  'steer-backlog',
  'steer+backlog',
  'interrupt',
];
/** Most of them as we do it, some as other systems do. */
export const AGENTS: Agents = {
  main: {},
  ada: {},
  bob: {},
  cleo: { profile: 'zeroclaw' },
  'dev-1': { profile: 'claw0-classic' },
  ops_2: { profile: 'zyhive' },
};
const AGENT_IDS = Object.keys(AGENTS) as [string, ...string[]];
const CHANNELS = ['telegram', 'discord', 'slack', 'whatsapp', 'matrix'] as const;
/** Ids as channels have them; each belongs to another person. */
const ODD_IDS = [
  'Alice',
  'alice',
  'ALICE',
  'a:b',
  'a/b',
  'a%3Ab',
  'a%2Fb',
  '!r:hs.org',
  'direct',
  'thread',
  'ü',
  'u',
  '..',
] as const;

/** As many conversations as there are peers; no two of them may ever be one. */
export function makeConversations(random: Random, peers: number): [Conversation, ...Conversation[]] {
  const seen = new Set<string>();
  const made: Conversation[] = [];
  while (made.length < peers) {
    const n = made.length;
    const peerKind = random.pick(['direct', 'direct', 'direct', 'group', 'channel'] as const);
    const peer = random.chance(0.5) ? random.pick(ODD_IDS) : `peer${random.integer(0, peers)}`;
    const thread = random.chance(0.2) ? { thread: random.pick(['T1', 't1', '7', 'a:b']) } : {};
    const account = random.chance(0.3) ? { account: random.pick(['work', 'home']) } : {};
    const agentId = random.pick(AGENT_IDS);
    const channel = random.pick(CHANNELS);
    const senders: [string, ...string[]] =
      peerKind === 'direct' ? [peer] : [`${peer}-1`, `${peer}-2`, `${peer}-3`];
    // The account of a direct message does not part conversations under the default scope.
    const identity = JSON.stringify([agentId, channel, peerKind, peer, thread]);
    if (seen.has(identity)) continue;
    seen.add(identity);
    made.push({ n, agentId, channel, peerKind, peer, senders, ...thread, ...account });
  }
  return made as [Conversation, ...Conversation[]];
}

export interface TrafficOptions {
  readonly conversations: readonly [Conversation, ...Conversation[]];
  /** One whose process died is given up a minute later: too long for a test that waits in real time. */
  readonly commands: boolean;
}

/** The next message of a person. */
export class Traffic {
  readonly #random: Random;
  readonly #options: TrafficOptions;
  readonly #counts: Map<Conversation, number> = new Map();
  #count = 0;

  constructor(random: Random, options: TrafficOptions) {
    this.#random = random;
    this.#options = options;
  }

  next(): Delivery {
    const { conversations, commands } = this.#options;
    const random = this.#random;
    // A few conversations get most of it: that is where things happen at the same time.
    const busy = Math.floor(conversations.length * random.next() ** 3);
    const conversation = conversations[busy] ?? conversations[0];
    const n = ++this.#count;
    // As channels do: unique in a chat, and used again in others.
    const inChat = (this.#counts.get(conversation) ?? 0) + 1;
    this.#counts.set(conversation, inChat);
    const delivery = { conversation, messageId: String(inChat), sender: random.pick(conversation.senders) };
    if (commands && random.chance(0.03)) return { ...delivery, text: this.#command() };
    const name = `m${n}@k${conversation.n}`;
    const rounds = random.chance(0.3) ? random.integer(1, 2) : 0;
    const plan = Array.from({ length: rounds }, () =>
      Array.from({ length: random.integer(1, 2) }, () => random.pick(['safe', 'safe', 'unsafe'])),
    );
    const reset = random.chance(0.03) ? `${random.pick(['/new', '/reset', '/NEW'])} ` : '';
    const queue = random.chance(0.7) ? { queue: random.pick(MODES) } : {};
    return { ...delivery, name, text: `${reset}${say({ name, plan })}`, ...queue };
  }

  #command(): string {
    const random = this.#random;
    return random.pick(['/stop', '/stop', `/queue ${random.pick(MODES)}`, '/queue', '/new']);
  }
}
