import type { CutStrategy } from '../../compaction/cut-strategies.ts';
import { failure } from '../../messages/failure.ts';
import { quotedValue } from '../../messages/quoted.ts';
import type { SessionRecord } from '../../store/port/store.ts';
import { SUMMARY_CARRIERS, type SummaryCarrier } from '../../transcript/render/carrier.ts';
import type { Agents } from './agents.ts';
import { agentOptions } from './agents.ts';

/** When to compact a history although it still fits the window. */
export type CompactionTrigger =
  /** Never: compact only when the next request would not fit. */
  | { readonly kind: 'budget' }
  | { readonly kind: 'tokens'; readonly tokens: number }
  /** At this share of the window. */
  | { readonly kind: 'share'; readonly share: number };

/**
 * The behavior of another tool as data: the engine reads fields and never asks for the name of a profile. If a field
 * is undefined, the model and its window decide.
 */
export interface Profile {
  /** Upper limit for the window. */
  readonly window: number | undefined;
  readonly trigger: CompactionTrigger;
  /** Undefined: keep the newest tokens, as many as suit the window. */
  readonly cut: CutStrategy | undefined;
  readonly carrier: SummaryCarrier;
  /** The estimator for the trigger and for reports. Whether a request fits is always decided by `calibrated`. */
  readonly estimator: 'calibrated' | 'chars4';
  readonly maxOutputTokens: number | undefined;
  readonly summaryTokens: number | undefined;
  /** Maximum number of messages that a compaction keeps. */
  readonly historyLimit: number | undefined;
  /** `memory`: nothing outlives the process, and nothing is compacted. */
  readonly persist: 'session' | 'memory';
  /** `none`: calls and their results are known only during their turn. */
  readonly tools: 'full' | 'none';
  /**
   * `turn-end`: a turn's messages and answers are written together at its end; until then the inbox has the messages.
   */
  readonly writes: 'immediate' | 'turn-end';
  readonly sessionId: 'uuid' | 'hex12' | 'ses-ms';
  /** How users of that tool write keys. Every format is accepted under every profile. */
  readonly keys: 'agent' | 'three-part';
  /** The format of a session that is exported for that tool. */
  readonly layout: 'reprise' | 'claw0' | 'claw0-classic' | 'zeroclaw' | 'clawdbot' | 'zyhive';
}

export type ProfileName = 'native' | 'claw0' | 'claw0-classic' | 'zeroclaw' | 'clawdbot' | 'zyhive';

const NATIVE: Profile = {
  window: undefined,
  trigger: { kind: 'budget' },
  cut: undefined,
  carrier: SUMMARY_CARRIERS.user,
  estimator: 'calibrated',
  maxOutputTokens: undefined,
  summaryTokens: undefined,
  historyLimit: undefined,
  persist: 'session',
  tools: 'full',
  writes: 'immediate',
  sessionId: 'uuid',
  keys: 'agent',
  layout: 'reprise',
};

const CLAW0: Profile = {
  ...NATIVE,
  window: 180_000,
  cut: { kind: 'fraction', compress: 0.5, keep: 0.2, minKeep: 4 },
  carrier: SUMMARY_CARRIERS['user+assistant'],
  estimator: 'chars4',
  maxOutputTokens: 8096,
  summaryTokens: 2048,
  layout: 'claw0',
};

export const PROFILES: Readonly<Record<ProfileName, Profile>> = {
  native: NATIVE,
  claw0: CLAW0,
  'claw0-classic': {
    ...CLAW0,
    window: undefined,
    maxOutputTokens: 4096,
    sessionId: 'hex12',
    keys: 'three-part',
    layout: 'claw0-classic',
  },
  zeroclaw: {
    ...NATIVE,
    trigger: { kind: 'tokens', tokens: 12_000 },
    cut: { kind: 'last-user' },
    carrier: SUMMARY_CARRIERS.assistant,
    estimator: 'chars4',
    historyLimit: 40,
    tools: 'none',
    writes: 'turn-end',
    layout: 'zeroclaw',
  },
  clawdbot: { ...NATIVE, cut: { kind: 'history-share', share: 0.5 }, layout: 'clawdbot' },
  zyhive: {
    ...NATIVE,
    trigger: { kind: 'tokens', tokens: 80_000 },
    cut: { kind: 'keep-turns', turns: 20 },
    carrier: SUMMARY_CARRIERS['system-prefix'],
    estimator: 'chars4',
    sessionId: 'ses-ms',
    layout: 'zyhive',
  },
};

/** The parts of a configuration that apply to all profiles. */
export interface ProfileSettings {
  readonly profile?: ProfileName | undefined;
  readonly agents?: Agents | undefined;
  readonly cut?: CutStrategy | undefined;
  readonly trigger?: CompactionTrigger | undefined;
  readonly session?: { readonly enabled?: boolean; readonly historyLimit?: number } | undefined;
}

export type ProfileFor = (record: Pick<SessionRecord, 'agentId' | 'settings'>) => Profile;

/**
 * Resolves the profile of a session: its own setting, then its agent's, then the configuration's. A session may name
 * a profile that this version does not know and must still be answered; in a configuration that is an error.
 */
export function profileResolver({ profile, agents = {}, ...said }: ProfileSettings): ProfileFor {
  for (const name of [profile, ...Object.values(agents).map((agent) => agent?.profile)]) {
    if (name !== undefined && !isProfileName(name)) {
      const known = Object.keys(PROFILES);
      throw failure('CONFIG_INVALID', 'profile.unknown', { profile: quotedValue(name), known });
    }
  }
  return ({ agentId, settings }) => {
    const own = settings['profile'];
    const name = isProfileName(own) ? own : (agentOptions(agents, agentId).profile ?? profile ?? 'native');
    return adjust(PROFILES[name], said);
  };
}

/** Explicit numbers override those of the profile. */
function adjust(profile: Profile, { cut, trigger, session = {} }: ProfileSettings): Profile {
  const { enabled = true, historyLimit } = session;
  return {
    ...profile,
    ...(cut !== undefined && { cut }),
    ...(trigger !== undefined && { trigger }),
    ...(historyLimit !== undefined && { historyLimit }),
    ...(!enabled && { persist: 'memory' as const }),
  };
}

export function isProfileName(name: unknown): name is ProfileName {
  return typeof name === 'string' && Object.hasOwn(PROFILES, name);
}

/** Number of tokens at which a compaction is due; infinite if only the window decides. */
export function triggerTokens(trigger: CompactionTrigger, window: number): number {
  switch (trigger.kind) {
    case 'tokens':
      return trigger.tokens;
    case 'share':
      return Math.floor(window * trigger.share);
    case 'budget':
      return Number.POSITIVE_INFINITY;
    default:
      return trigger satisfies never;
  }
}
