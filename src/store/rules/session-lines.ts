import type { JsonObject } from '../../transcript/json.ts';
import { encodeLine } from '../../transcript/line.ts';
import type { NewEntry } from '../port/store.ts';

/** Older readers of the format look for the header only this far. */
const MAX_HEADER_BYTES = 512;
const FORMAT_VERSION = 3;

interface HeaderInput {
  readonly id: string;
  readonly timestamp: string;
  readonly cwd: string;
  readonly agentId: string;
  readonly key: string;
  readonly parentSession: string | undefined;
}

/** The header without its key if the line would be too long; an activation entry then contains the key. */
export function headerLine({ key, parentSession, ...rest }: HeaderInput): {
  line: string;
  keyLeftOut: boolean;
} {
  const { id, timestamp, cwd, agentId } = rest;
  const parent = parentSession === undefined ? {} : { parentSession };
  const header = { type: 'session', version: FORMAT_VERSION, id, timestamp, cwd, ...parent, agentId };
  const seal = { q: 1, e: 0, b: '1/1' };
  const line = encodeLine({ ...header, key }, seal);
  if (Buffer.byteLength(line) <= MAX_HEADER_BYTES) return { line, keyLeftOut: false };
  return { line: encodeLine(header, seal), keyLeftOut: true };
}

export const activation = (
  key: string,
  counter: number,
  reason?: string,
): { type: string; [name: string]: unknown } => ({
  type: 'custom',
  customType: 'reprise.activate',
  data: { key, counter, ...(reason !== undefined && { reason }) },
});

/** The entries that a patch writes. */
export function patchEntries(settings: JsonObject, title: string | undefined): NewEntry[] {
  const named = title === undefined ? [] : [{ type: 'session_info', name: title }];
  const isTitleOnly = title !== undefined && Object.keys(settings).length === 0;
  return isTitleOnly ? named : [...named, settingsEntry(settings)];
}

export const settingsEntry = (settings: JsonObject): { type: string; [name: string]: unknown } => ({
  type: 'custom',
  customType: 'reprise.settings',
  data: settings,
});
