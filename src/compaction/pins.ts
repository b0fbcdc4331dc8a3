import type { Entry } from '../transcript/entry.ts';
import { isObject } from '../transcript/json.ts';

/** Text that a user wants to keep in the context across compactions. */
export interface Pin {
  readonly entryId: string;
  readonly text: string;
}

const PIN_TYPE = 'reprise.pin';
/** The entries that `pinsInForce` reads; others may be left out. */
export const PIN_KINDS: readonly string[] = [PIN_TYPE, 'compaction'];
const HEADING = '## Pinned';

/**
 * The active pins at the end of these entries, in file order. A compaction repeats the current pins, so the tail of a
 * session is enough. After it, a line about an entry replaces an earlier one, and empty text removes it.
 */
export function pinsInForce(entries: readonly Entry[]): Pin[] {
  const pins = new Map<string, Pin>();
  const put = (pin: unknown): void => {
    if (!isObject(pin)) return;
    const { entryId, text } = pin;
    if (typeof entryId !== 'string' || typeof text !== 'string') return;
    pins.delete(entryId);
    if (text !== '') pins.set(entryId, { entryId, text });
  };
  for (const { type, customType, data, details } of entries) {
    if (type === 'custom' && customType === PIN_TYPE) put(data);
    if (type !== 'compaction' || !isObject(details) || !Array.isArray(details['pins'])) continue;
    pins.clear();
    for (const pin of details['pins']) put(pin);
  }
  return [...pins.values()];
}

/** Copies the pins word for word into every summary, so that tools without pins show them too. */
export function appendPins(summary: string, pins: readonly Pin[]): string {
  if (pins.length === 0) return summary;
  return `${summary.trimEnd()}\n\n${HEADING}\n${pins.map(({ text }) => text).join('\n\n')}`;
}

/** The summary without its pins: they are copied from the session each time, never summarized by a model. */
export function withoutPins(summary: string): string {
  const at = summary.lastIndexOf(`\n${HEADING}\n`);
  return at === -1 ? summary : summary.slice(0, at).trimEnd();
}
