import { parseSessionKey } from '../../keys/session-key.ts';
import { isObject, type JsonObject } from '../../transcript/json.ts';
import { checkNames, checkOneOf, configFault } from '../check-config.ts';

export type SendAction = 'allow' | 'deny';
export type ChatType = 'direct' | 'group' | 'channel';

export interface SendRule {
  readonly action: SendAction;
  /** Every field that is set must match. Without fields, the rule matches everything. */
  readonly match?: {
    readonly channel?: string;
    readonly chatType?: ChatType;
    readonly keyPrefix?: string;
  };
}

export interface SendPolicy {
  readonly default?: SendAction;
  readonly rules?: readonly SendRule[];
}

export interface SendInput {
  readonly rules?: SendPolicy | undefined;
  /** Settings of the session: its `sendPolicy` comes first. */
  readonly settings: JsonObject;
  readonly sessionKey: string;
  /** Unset: derived from the key. */
  readonly channel?: string | undefined;
  readonly chatType?: ChatType | undefined;
}

const ACTIONS = ['allow', 'deny'];
const CHAT_TYPES = ['direct', 'group', 'channel'];

/** The session's `sendPolicy` decides; else any matching rule that denies; else the default. */
export function sendAllowed({ rules: policy = {}, settings, ...place }: SendInput): boolean {
  const { sendPolicy } = settings;
  if (sendPolicy === 'allow' || sendPolicy === 'deny') return sendPolicy === 'allow';
  const actions = (policy.rules ?? []).filter((rule) => fits(rule, place)).map(({ action }) => action);
  if (actions.includes('deny')) return false;
  return actions.includes('allow') || policy.default !== 'deny';
}

function fits(
  { match = {} }: SendRule,
  { sessionKey, channel, chatType }: Omit<SendInput, 'settings'>,
): boolean {
  const parts = parseSessionKey(sessionKey);
  const from = channel ?? ('channel' in parts ? parts.channel : undefined);
  const type = chatType ?? (parts.kind === 'group' || parts.kind === 'channel' ? parts.kind : 'direct');
  if (match.channel !== undefined && match.channel !== from) return false;
  if (match.chatType !== undefined && match.chatType !== type) return false;
  return match.keyPrefix === undefined || sessionKey.startsWith(match.keyPrefix);
}

/** Throws CONFIG_INVALID for rules that cannot match: a typing error must not allow what was to be denied. */
export function checkSendPolicy(policy: SendPolicy): void {
  checkNames('sendPolicy', policy, ['default', 'rules']);
  const { default: fallback, rules = [] } = policy;
  if (fallback !== undefined) checkOneOf('sendPolicy.default', fallback, ACTIONS);
  if (!Array.isArray(rules)) throw configFault('sendPolicy.rules', rules, { is: 'list', of: [] });
  for (const [i, rule] of rules.entries()) {
    const field = `sendPolicy.rules[${i}]`;
    checkNames(field, rule, ['action', 'match']);
    checkOneOf(`${field}.action`, rule.action, ACTIONS);
    if (rule.match !== undefined) checkMatch(`${field}.match`, rule.match);
  }
}

function checkMatch(field: string, match: unknown): void {
  checkNames(field, match, ['channel', 'chatType', 'keyPrefix']);
  if (!isObject(match)) return;
  for (const [name, value] of Object.entries(match)) {
    if (value === undefined) continue;
    if (name === 'chatType') checkOneOf(`${field}.chatType`, value, CHAT_TYPES);
    else if (typeof value !== 'string' || value === '')
      throw configFault(`${field}.${name}`, value, { is: 'nonEmptyText' });
  }
}
