import type { ThinkingLevel } from '../models/model.ts';
import type { JsonObject } from '../transcript/json.ts';
import type { ResponseUsage } from './turn/usage-line.ts';

export type SettledQueueMode = 'steer' | 'followup' | 'queue' | 'collect' | 'steer-backlog' | 'interrupt';
export type QueueDrop = 'old' | 'new' | 'summarize';

/**
 * What a session stores beside its history, under the names that other tools use. The engine uses some of them and
 * passes on the others, so that nothing is lost between tools. Other names are allowed if they start with `x-`.
 */
export interface SessionSettings {
  // Of this engine.
  readonly model?: string;
  readonly profile?: string;
  readonly systemPrompt?: string;
  /** Hidden from lists by default. */
  readonly archived?: boolean;
  /** Set by `archiveAfter`: since when the session was idle (`{at, seq}`), valid while `seq` is the last line. */
  readonly idleSince?: JsonObject;
  /** Number of parents of a child; 0 for a session without a parent. */
  readonly depth?: number;
  /** What a thread's session began with. */
  readonly forkedFrom?: JsonObject;
  /** For an imported session: `{hash, state}`, by which a repeated import recognizes it. */
  readonly importedFrom?: JsonObject;
  /** For a child: the tools of the session that spawned it, which limit its own. */
  readonly toolPolicy?: JsonObject;

  readonly sessionId?: string;
  readonly updatedAt?: number;
  readonly sessionFile?: string;
  readonly systemSent?: boolean;
  readonly abortedLastRun?: boolean;

  readonly chatType?: 'direct' | 'group' | 'channel';
  readonly thinkingLevel?: ThinkingLevel;
  readonly verboseLevel?: VerboseLevel;
  readonly reasoningLevel?: ReasoningLevel;
  readonly elevatedLevel?: string;
  readonly ttsAuto?: string;

  readonly execHost?: string;
  readonly execSecurity?: string;
  readonly execAsk?: string;
  readonly execNode?: string;

  readonly providerOverride?: string;
  readonly modelOverride?: string;
  readonly authProfileOverride?: string;
  readonly authProfileOverrideSource?: 'auto' | 'user';
  readonly authProfileOverrideCompactionCount?: number;

  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly totalTokens?: number;
  /** Upper limit for the window. */
  readonly contextTokens?: number;
  /** Maximum number of turns that are sent to the model. */
  readonly historyTurns?: number;
  readonly compactionCount?: number;
  /** Unix time in ms; earlier versions wrote an ISO time. */
  readonly memoryFlushAt?: string | number;
  readonly memoryFlushCompactionCount?: number;

  readonly groupActivation?: GroupActivation;
  readonly groupActivationNeedsSystemIntro?: boolean;
  readonly groupId?: string;
  readonly subject?: string;
  readonly groupChannel?: string;
  readonly space?: string;

  readonly queueMode?: SettledQueueMode | 'steer+backlog';
  readonly queueDebounceMs?: number;
  readonly queueCap?: number;
  readonly queueDrop?: QueueDrop;

  readonly sendPolicy?: 'allow' | 'deny';
  readonly responseUsage?: ResponseUsage;

  readonly channel?: string;
  readonly label?: string;
  readonly displayName?: string;
  readonly origin?: JsonObject;
  readonly deliveryContext?: JsonObject;
  readonly lastChannel?: string;
  readonly lastTo?: string;
  readonly lastAccountId?: string;
  readonly lastThreadId?: string | number;

  /** The key of the parent. */
  readonly spawnedBy?: string;
  readonly skillsSnapshot?: JsonObject;
  readonly systemPromptReport?: JsonObject;
  readonly cliSessionIds?: Readonly<Record<string, string>>;
  readonly claudeCliSessionId?: string;
  readonly lastHeartbeatText?: string;
  readonly lastHeartbeatSentAt?: number;
}

export type VerboseLevel = 'off' | 'on' | 'full';
export type ReasoningLevel = 'off' | 'on' | 'stream';
export type GroupActivation = 'mention' | 'always';

export const THINKING_LEVELS: readonly ThinkingLevel[] = [
  'off',
  'minimal',
  'low',
  'medium',
  'high',
  'xhigh',
  'max',
];
export const VERBOSE_LEVELS: readonly VerboseLevel[] = ['off', 'on', 'full'];
export const REASONING_LEVELS: readonly ReasoningLevel[] = ['off', 'on', 'stream'];
export const RESPONSE_USAGES: readonly ResponseUsage[] = ['off', 'on', 'tokens', 'full'];
export const GROUP_ACTIVATIONS: readonly GroupActivation[] = ['mention', 'always'];
export const QUEUE_DROPS: readonly QueueDrop[] = ['old', 'new', 'summarize'];
export const QUEUE_MODES: readonly (SettledQueueMode | 'steer+backlog')[] = [
  'steer',
  'followup',
  'queue',
  'collect',
  'steer-backlog',
  'steer+backlog',
  'interrupt',
];

/**
 * Settings that a reset does not carry over: facts about the old history, values read from files when it began, and
 * the name of that conversation. Choices of people stay.
 */
export const FORGOTTEN_ON_RESET: readonly string[] = [
  'systemPrompt',
  'archived',
  'idleSince',
  'forkedFrom',
  'importedFrom',
  'label',
  'sessionId',
  'updatedAt',
  'sessionFile',
  'systemSent',
  'abortedLastRun',
  'authProfileOverrideCompactionCount',
  'inputTokens',
  'outputTokens',
  'totalTokens',
  'compactionCount',
  'memoryFlushAt',
  'memoryFlushCompactionCount',
  'skillsSnapshot',
  'systemPromptReport',
  'cliSessionIds',
  'claudeCliSessionId',
  'lastHeartbeatText',
  'lastHeartbeatSentAt',
];

export interface QueueSettings {
  readonly mode: SettledQueueMode;
  readonly debounceMs: number;
  readonly cap: number;
  readonly drop: QueueDrop;
}

// Settings may come from other tools, unchecked. Unknown values are ignored.

export function queueSettings(settings: JsonObject, defaults: QueueSettings): QueueSettings {
  const { queueDebounceMs, queueCap } = settings;
  const mode = oneOf(settings['queueMode'], QUEUE_MODES) ?? defaults.mode;
  return {
    // Two spellings of the same mode.
    mode: mode === 'steer+backlog' ? 'steer-backlog' : mode,
    debounceMs: isCount(queueDebounceMs) ? queueDebounceMs : defaults.debounceMs,
    cap: isCount(queueCap) && queueCap > 0 ? queueCap : defaults.cap,
    drop: oneOf(settings['queueDrop'], QUEUE_DROPS) ?? defaults.drop,
  };
}

/** Undefined: the model's default. */
export function thinkingLevelOf({ thinkingLevel }: JsonObject): ThinkingLevel | undefined {
  return oneOf(thinkingLevel, THINKING_LEVELS);
}

export function verboseLevelOf({ verboseLevel }: JsonObject): VerboseLevel {
  return oneOf(verboseLevel, VERBOSE_LEVELS) ?? 'off';
}

export function reasoningLevelOf({ reasoningLevel }: JsonObject): ReasoningLevel {
  return oneOf(reasoningLevel, REASONING_LEVELS) ?? 'off';
}

export function responseUsageOf({ responseUsage }: JsonObject): ResponseUsage {
  return oneOf(responseUsage, RESPONSE_USAGES) ?? 'off';
}

/** In groups the assistant answers only when it is addressed, unless a user chose otherwise. */
export function groupActivationOf({ groupActivation }: JsonObject): GroupActivation {
  return oneOf(groupActivation, GROUP_ACTIVATIONS) ?? 'mention';
}

function oneOf<T extends string>(value: unknown, allowed: readonly T[]): T | undefined {
  return allowed.find((each) => each === value);
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}
