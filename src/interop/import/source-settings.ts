import type { NewEntry } from '../../store/port/store.ts';
import { customData, type Entry } from '../../transcript/entry.ts';
import { isObject, type JsonObject } from '../../transcript/json.ts';
import { patchSettings } from '../../transcript/settings.ts';

/** Settings that only name a session for people. They change nothing a model does, so every import applies them. */
const NAMES: ReadonlySet<string> = new Set(['label', 'displayName', 'subject']);

/** Fields of an OpenClaw index entry that a person chose, or that say where its conversation takes place. */
const CHOICES: ReadonlySet<string> = new Set([
  ...['label', 'displayName', 'subject', 'chatType', 'groupId', 'groupChannel', 'space', 'channel', 'origin'],
  ...['deliveryContext', 'lastChannel', 'lastTo', 'lastAccountId', 'lastThreadId', 'spawnedBy'],
  ...['modelOverride', 'providerOverride', 'authProfileOverride', 'authProfileOverrideSource'],
  ...['thinkingLevel', 'verboseLevel', 'reasoningLevel', 'elevatedLevel', 'ttsAuto', 'responseUsage'],
  ...['execHost', 'execSecurity', 'execAsk', 'execNode', 'sendPolicy', 'groupActivation'],
  ...['queueMode', 'queueDebounceMs', 'queueCap', 'queueDrop'],
]);
/**
 * Fields that the other program wrote for itself: file names, counters, and what its last run used. `model` and
 * `contextTokens` are the model of that run and its window. As settings they would choose a model and cap the window.
 */
const STATISTICS: ReadonlySet<string> = new Set([
  ...['sessionId', 'updatedAt', 'sessionFile', 'createdAt', 'title', 'messageCount', 'tokenEstimate', 'seal'],
  ...['model', 'modelProvider', 'contextTokens', 'systemSent', 'abortedLastRun', 'compactionCount'],
  ...['inputTokens', 'outputTokens', 'totalTokens', 'totalTokensFresh', 'cacheRead', 'cacheWrite'],
  ...['memoryFlushAt', 'memoryFlushCompactionCount', 'authProfileOverrideCompactionCount'],
  ...['groupActivationNeedsSystemIntro', 'skillsSnapshot', 'systemPromptReport', 'cliSessionIds'],
  ...['claudeCliSessionId', 'lastHeartbeatText', 'lastHeartbeatSentAt'],
]);

/** The fields of an OpenClaw index entry that are settings, and the names of those that are not known. */
export function settingsOfIndex(entry: JsonObject): { settings: JsonObject; unknown: readonly string[] } {
  const isSetting = (name: string): boolean => CHOICES.has(name) || name.startsWith('x-');
  const settings = Object.entries(entry).filter(([name]) => isSetting(name));
  const unknown = Object.keys(entry).filter((name) => !isSetting(name) && !STATISTICS.has(name));
  return { settings: Object.fromEntries(settings), unknown };
}

export interface SourceSettings {
  /** Without those that act as settings: they are inactive or left out. */
  readonly entries: readonly Entry[];
  /** Settings to apply in any case. */
  readonly settings: JsonObject;
  readonly notApplied: readonly string[];
  /** What applies `notApplied` to a session that was imported without it. */
  readonly later: readonly NewEntry[];
}

/**
 * Separates what a source says from what it sets. An import adds messages: a system prompt, model, thinking level, tool
 * policy or pin of an unknown author must not decide how the next turn runs, unless the user accepts it.
 */
export function separateSettings(entries: readonly Entry[], indexed: JsonObject): SourceSettings {
  const merged = new Map<string, unknown>();
  const later: NewEntry[] = [];
  let hasPins = false;
  const leavePin = (data: unknown): void => {
    hasPins = true;
    later.push({ type: 'custom', customType: 'reprise.pin', data });
  };
  const set = (patch: JsonObject): void => {
    patchSettings(merged, patch);
    later.push(settingsEntry(patch));
  };
  const inactive = entries.flatMap((entry): readonly Entry[] => {
    const { type, details } = entry;
    const patch = customData(entry, 'reprise.settings');
    if (patch !== undefined) {
      set(patch);
      return [];
    }
    const pin = customData(entry, 'reprise.pin');
    if (pin !== undefined) {
      leavePin(pin);
      return [];
    }
    if (type === 'thinking_level_change') {
      const { thinkingLevel } = entry;
      set({ thinkingLevel });
      const { id, parentId, timestamp } = entry;
      const customType = 'imported.thinking_level_change';
      return [{ id, parentId, timestamp, type: 'custom', customType, data: { thinkingLevel } }];
    }
    if (type !== 'compaction' || !isObject(details) || !Array.isArray(details['pins'])) return [entry];
    const { pins, ...rest } = details;
    for (const each of pins as readonly unknown[]) leavePin(each);
    return [{ ...entry, details: rest }];
  });
  set(indexed);
  const names = [...merged].filter(([name]) => NAMES.has(name));
  const notApplied = [...merged.keys()].filter((name) => !NAMES.has(name));
  if (hasPins) notApplied.push('pins');
  return { entries: inactive, settings: Object.fromEntries(names), notApplied, later };
}

export function settingsEntry(data: JsonObject): NewEntry {
  return { type: 'custom', customType: 'reprise.settings', data };
}
