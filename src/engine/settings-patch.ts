import type { RepriseError } from '../errors.ts';
import { expectedText } from '../messages/expected-text.ts';
import { failure } from '../messages/failure.ts';
import type { Expected } from '../messages/params/params-settings.ts';
import { quoted, quotedValue } from '../messages/quoted.ts';
import { isObject, type JsonObject } from '../transcript/json.ts';
import { closestName } from './closest-name.ts';
import {
  GROUP_ACTIVATIONS,
  QUEUE_DROPS,
  QUEUE_MODES,
  REASONING_LEVELS,
  RESPONSE_USAGES,
  type SessionSettings,
  THINKING_LEVELS,
  VERBOSE_LEVELS,
} from './session-settings.ts';

interface Kind {
  readonly expected: readonly Expected[];
  readonly accepts: (value: unknown) => boolean;
}

const isText = (value: unknown): boolean => typeof value === 'string' && value !== '';
const isNumber = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;
const isTime = (value: unknown): boolean => typeof value === 'string' && !Number.isNaN(Date.parse(value));

const TEXT: Kind = { expected: [{ is: 'nonEmptyText' }], accepts: isText };
const SWITCH: Kind = { expected: [{ is: 'boolean' }], accepts: (value) => typeof value === 'boolean' };
const COUNT: Kind = { expected: [{ is: 'integer', min: 0 }], accepts: isNumber };
const ABOVE_ZERO: Kind = {
  expected: [{ is: 'integer', min: 1 }],
  accepts: (value) => isNumber(value) && value !== 0,
};
const OBJECT: Kind = { expected: [{ is: 'object', names: [] }], accepts: isObject };
const TIME: Kind = {
  expected: [{ is: 'time' }],
  accepts: (value) => isNumber(value) || isTime(value),
};
const NAME: Kind = {
  expected: [{ is: 'nonEmptyText' }, { is: 'integer', min: 0 }],
  accepts: (value) => isText(value) || isNumber(value),
};
const TEXTS: Kind = {
  expected: [{ is: 'record', of: [{ is: 'text' }] }],
  accepts: (value) => isObject(value) && Object.values(value).every((each) => typeof each === 'string'),
};
const oneOf = (...names: readonly string[]): Kind => ({
  expected: [{ is: 'oneOf', values: names }],
  accepts: (value) => typeof value === 'string' && names.includes(value),
});
/** Names such as `openai:org/model:tag`. A name may become part of a URL, so it must not contain a path traversal. */
const MODEL_NAME = /^[\p{L}\p{N}@][\p{L}\p{N} ._:/@+-]{0,255}$/u;
const MODEL: Kind = {
  expected: [{ is: 'model' }],
  accepts: (value) =>
    typeof value === 'string' && MODEL_NAME.test(value) && !/(?:^|[:/])\.\.?(?:\/|$)/.test(value),
};
/** Known, so that it is passed on; only the engine sets it. */
const PROTECTED = 'protected';

const FIELDS: Readonly<Record<keyof SessionSettings, Kind | typeof PROTECTED>> = {
  model: MODEL,
  profile: TEXT,
  systemPrompt: TEXT,
  archived: SWITCH,
  idleSince: PROTECTED,
  depth: PROTECTED,
  forkedFrom: PROTECTED,
  importedFrom: PROTECTED,
  toolPolicy: PROTECTED,
  sessionId: PROTECTED,
  updatedAt: PROTECTED,
  sessionFile: PROTECTED,
  systemSent: SWITCH,
  abortedLastRun: SWITCH,
  chatType: oneOf('direct', 'group', 'channel'),
  thinkingLevel: oneOf(...THINKING_LEVELS),
  verboseLevel: oneOf(...VERBOSE_LEVELS),
  reasoningLevel: oneOf(...REASONING_LEVELS),
  elevatedLevel: TEXT,
  ttsAuto: TEXT,
  execHost: TEXT,
  execSecurity: TEXT,
  execAsk: TEXT,
  execNode: TEXT,
  providerOverride: TEXT,
  modelOverride: MODEL,
  authProfileOverride: TEXT,
  authProfileOverrideSource: oneOf('auto', 'user'),
  authProfileOverrideCompactionCount: COUNT,
  inputTokens: COUNT,
  outputTokens: COUNT,
  totalTokens: COUNT,
  contextTokens: ABOVE_ZERO,
  historyTurns: ABOVE_ZERO,
  compactionCount: COUNT,
  memoryFlushAt: TIME,
  memoryFlushCompactionCount: COUNT,
  groupActivation: oneOf(...GROUP_ACTIVATIONS),
  groupActivationNeedsSystemIntro: SWITCH,
  groupId: TEXT,
  subject: TEXT,
  groupChannel: TEXT,
  space: TEXT,
  queueMode: oneOf(...QUEUE_MODES),
  queueDebounceMs: COUNT,
  queueCap: ABOVE_ZERO,
  queueDrop: oneOf(...QUEUE_DROPS),
  sendPolicy: oneOf('allow', 'deny'),
  responseUsage: oneOf(...RESPONSE_USAGES),
  channel: TEXT,
  label: TEXT,
  displayName: TEXT,
  origin: OBJECT,
  deliveryContext: OBJECT,
  lastChannel: TEXT,
  lastTo: TEXT,
  lastAccountId: TEXT,
  lastThreadId: NAME,
  spawnedBy: PROTECTED,
  skillsSnapshot: OBJECT,
  systemPromptReport: OBJECT,
  cliSessionIds: TEXTS,
  claudeCliSessionId: TEXT,
  lastHeartbeatText: TEXT,
  lastHeartbeatSentAt: COUNT,
};

/** Facts of a session's record: callers cannot set them, and no setting may have such a name. */
const FACTS: ReadonlySet<string> = new Set(
  'id key sessionKey agentId owner ownerId parentId role seq lastSeq epoch leaf status active createdAt lastAt messageCount turnCount tokenEstimate corruptAt'.split(
    ' ',
  ),
);

const KINDS: ReadonlyMap<string, Kind | typeof PROTECTED> = new Map(Object.entries(FIELDS));

/** Checks a caller's patch; null removes a name. INVALID_INPUT says what is wrong and what is allowed. */
export function parseSettingsPatch(patch: JsonObject): JsonObject {
  if (!isObject(patch)) throw wrongValue('settings', patch, [{ is: 'object', names: [] }]);
  const parsed: [string, unknown][] = [];
  for (const [name, value] of Object.entries(patch)) {
    if (value === undefined) continue;
    checkSetting(name, value);
    parsed.push([name, value]);
  }
  return Object.fromEntries(parsed);
}

function checkSetting(name: string, value: unknown): void {
  if (name.startsWith('x-')) return;
  const kind = KINDS.get(name);
  if (kind === PROTECTED || FACTS.has(name))
    throw failure('INVALID_INPUT', 'setting.protected', { name }, { details: { field: name } });
  if (kind === undefined) {
    const suggestion = closestName(name, settable());
    throw failure(
      'INVALID_INPUT',
      'setting.unknown',
      { name: quoted(name), suggestion: suggestion ?? null },
      { details: { field: name, ...(suggestion !== undefined && { suggestion }) } },
    );
  }
  if (value === null || kind.accepts(value)) return;
  throw wrongValue(name, value, kind.expected);
}

function* settable(): Generator<string> {
  for (const [name, kind] of KINDS) if (kind !== PROTECTED) yield name;
}

/** The error for a field of a request, or a setting, with an invalid value. */
export function wrongValue(field: string, value: unknown, expected: readonly Expected[]): RepriseError {
  const params = { field, value: value === undefined ? null : quotedValue(value), expected };
  const details = { field, allowed: expectedText(expected) };
  return failure('INVALID_INPUT', 'value.wrong', params, { details });
}
