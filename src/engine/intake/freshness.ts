import { isSubagentSessionKey } from '../../keys/predicates.ts';
import { checkNames, checkOneOf, configFault } from '../check-config.ts';
import { ruleForChat } from './rule-for-chat.ts';
import { lastTimeAtHour } from './zoned-hour.ts';

/** When a session expires and the next message starts a new one. */
export interface ResetPolicy {
  readonly mode: 'none' | 'daily' | 'idle';
  /** For `daily`: the hour of the day; 4 by default. */
  readonly atHour?: number;
  /** For `idle`. If it is set with `daily`, the earlier of both applies. */
  readonly idleMinutes?: number;
}

export interface ResetRules {
  /** Unset: sessions never expire by time. */
  readonly reset?: ResetPolicy;
  /** Replaces `reset` as a whole, in direct chats, in groups and channels, or in their threads. */
  readonly resetByType?: {
    readonly direct?: ResetPolicy;
    readonly group?: ResetPolicy;
    readonly thread?: ResetPolicy;
  };
  /** Replaces both, by the name of a channel. */
  readonly resetByChannel?: Readonly<Record<string, ResetPolicy>>;
  /** An IANA name; unset: the host's. */
  readonly timeZone?: string;
  /** First words that begin a new session. */
  readonly resetTriggers?: readonly string[];
}

export interface FreshnessInput {
  readonly rules: ResetRules;
  readonly sessionKey: string;
  /** The channel of the message. Unset: the channel in the key. */
  readonly channel?: string | undefined;
  /** When a person last wrote there. System events must not count. */
  readonly lastActiveAt: Date;
  readonly now: Date;
}

const DEFAULT_RESET_TRIGGERS: readonly string[] = ['/new', '/reset'];

const MODES = ['none', 'daily', 'idle'];
const TYPES = ['direct', 'group', 'thread'];
const DEFAULT_HOUR = 4;
const MINUTE = 60_000;

/** @returns why the session has expired, or undefined if it has not. */
export function resetReason(input: FreshnessInput): 'daily' | 'idle' | undefined {
  const { rules, lastActiveAt, now } = input;
  const { mode = 'none', atHour = DEFAULT_HOUR, idleMinutes } = policyFor(input) ?? {};
  if (mode === 'none') return undefined;
  const idleAt = idleMinutes === undefined ? undefined : lastActiveAt.getTime() + idleMinutes * MINUTE;
  const isIdle = idleAt !== undefined && now.getTime() >= idleAt;
  if (mode === 'idle') return isIdle ? 'idle' : undefined;
  // The rule that applied first is the reason, however late the next message is.
  const until = isIdle ? new Date(idleAt) : now;
  if (lastTimeAtHour(until, atHour, rules.timeZone) > lastActiveAt) return 'daily';
  return isIdle ? 'idle' : undefined;
}

function policyFor({ rules, sessionKey, channel }: FreshnessInput): ResetPolicy | undefined {
  const { reset, resetByType = {}, resetByChannel = {} } = rules;
  // A subagent's session belongs to a task, which does not end at four in the morning.
  if (isSubagentSessionKey(sessionKey)) return undefined;
  return ruleForChat(sessionKey, { all: reset, byType: resetByType, byChannel: resetByChannel }, channel);
}

/**
 * A trigger is the whole first word, in any case, also in the form `/new@botname` of group chats. The rest is the first
 * message of the new session.
 */
export function parseResetTrigger(
  text: string,
  triggers: readonly string[] = DEFAULT_RESET_TRIGGERS,
): { readonly trigger: string; readonly rest: string } | undefined {
  const [, word = '', rest = ''] = /^\s*(\S+)([\s\S]*)$/.exec(text) ?? [];
  const said = word.toLowerCase();
  const bare = said.replace(/(?<=^\/[^@]+)@\w+$/, '');
  const trigger = triggers.find((each) => [said, bare].includes(each.toLowerCase()));
  return trigger === undefined ? undefined : { trigger, rest: rest.trim() };
}

/** Throws CONFIG_INVALID for rules that cannot apply. */
export function checkResetRules(rules: ResetRules): void {
  const { reset, resetByType = {}, resetByChannel = {}, timeZone, resetTriggers = [] } = rules;
  if (reset !== undefined) checkPolicy('reset', reset);
  checkNames('resetByType', resetByType, TYPES);
  for (const [type, policy] of Object.entries(resetByType)) {
    if (policy !== undefined) checkPolicy(`resetByType.${type}`, policy);
  }
  for (const [channel, policy] of Object.entries(resetByChannel))
    checkPolicy(`resetByChannel.${channel}`, policy);
  for (const trigger of resetTriggers) {
    if (typeof trigger === 'string' && /^\S+$/.test(trigger)) continue;
    throw configFault('resetTriggers', trigger, { is: 'word' });
  }
  if (timeZone !== undefined) checkTimeZone(timeZone);
}

function checkPolicy(field: string, policy: ResetPolicy): void {
  checkNames(field, policy, ['mode', 'atHour', 'idleMinutes']);
  const { mode, atHour, idleMinutes } = policy;
  checkOneOf(`${field}.mode`, mode, MODES);
  const isHour = atHour === undefined || (Number.isInteger(atHour) && atHour >= 0 && atHour <= 23);
  if (!isHour) throw configFault(`${field}.atHour`, atHour, { is: 'integer', min: 0, max: 23 });
  const isLength = idleMinutes === undefined || (Number.isFinite(idleMinutes) && idleMinutes > 0);
  if (!isLength) throw configFault(`${field}.idleMinutes`, idleMinutes, { is: 'number', above: 0 });
  if (mode === 'idle' && idleMinutes === undefined)
    throw configFault(`${field}.idleMinutes`, idleMinutes, { is: 'number', above: 0 });
}

function checkTimeZone(timeZone: string): void {
  try {
    lastTimeAtHour(new Date(0), 0, timeZone);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw configFault('timeZone', timeZone, { is: 'timeZone' });
  }
}
