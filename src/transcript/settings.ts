import { customData, type Entry } from './entry.ts';
import { isObject, type JsonObject } from './json.ts';

/** Applies one patch to settings: null removes a name. A Map, so that a name like `__proto__` is only a name. */
export function patchSettings(settings: Map<string, unknown>, patch: JsonObject): void {
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) settings.delete(name);
    else settings.set(name, value);
  }
}

/** Settings that describe the last turn. They are measured, not chosen, so a copy does not inherit them. */
export const TURN_STATISTICS: readonly string[] = [
  'systemSent',
  'abortedLastRun',
  'inputTokens',
  'outputTokens',
  'totalTokens',
];

/** The changes that an entry makes to its session's settings: chosen values, and the statistics of a turn. */
export function settingsIn(entry: Entry): JsonObject | undefined {
  const turn = customData(entry, 'reprise.turn');
  return turn === undefined ? customData(entry, 'reprise.settings') : statisticsOf(turn);
}

function statisticsOf({ status, calls, usage }: JsonObject): JsonObject {
  const abortedLastRun = status === 'aborted' || status === 'interrupted';
  // No model was called, so the numbers of the previous turn still apply.
  if (!Array.isArray(calls) || calls.length === 0) return { abortedLastRun };
  const { input, output, cacheRead, cacheWrite } = isObject(usage) ? usage : {};
  const inputTokens = count(input) + count(cacheRead) + count(cacheWrite);
  const outputTokens = count(output);
  const totalTokens = inputTokens + outputTokens;
  const tokens = { inputTokens, outputTokens, totalTokens };
  // Some servers report no usage. Then the numbers are unknown, and zero would be wrong.
  const unknown = { inputTokens: null, outputTokens: null, totalTokens: null };
  return { abortedLastRun, systemSent: true, ...(totalTokens > 0 ? tokens : unknown) };
}

function count(tokens: unknown): number {
  return typeof tokens === 'number' && Number.isSafeInteger(tokens) && tokens > 0 ? tokens : 0;
}
