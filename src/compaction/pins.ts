import type { Entry } from '../transcript/entry.ts';
import { isObject } from '../transcript/json.ts';

/** Text a person wants to stay in the context whatever is summarised. */
export interface Pin {
  readonly entryId: string;
  readonly text: string;
}

export const PIN_TYPE = 'reprise.pin';
const HEADING = '## Pinned';

/** The pins of a session: a later line about the same entry replaces an earlier one, empty text takes it back. */
export function collectPins(entries: readonly Entry[]): Pin[] {
  const pins = new Map<string, Pin>();
  for (const { type, customType, data } of entries) {
    if (type !== 'custom' || customType !== PIN_TYPE || !isObject(data)) continue;
    const { entryId, text } = data;
    if (typeof entryId !== 'string' || typeof text !== 'string') continue;
    pins.delete(entryId);
    if (text !== '') pins.set(entryId, { entryId, text });
  }
  return [...pins.values()];
}

/** Copied word for word into every summary, so that tools that know no pins see them too. */
export function appendPins(summary: string, pins: readonly Pin[]): string {
  if (pins.length === 0) return summary;
  return `${summary.trimEnd()}\n\n${HEADING}\n${pins.map(({ text }) => text).join('\n\n')}`;
}

/** The summary without its pins: they are copied anew from the session, never retold by a model. */
export function withoutPins(summary: string): string {
  const at = summary.lastIndexOf(`\n${HEADING}\n`);
  return at === -1 ? summary : summary.slice(0, at).trimEnd();
}
