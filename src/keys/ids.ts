import { RepriseError } from '../errors.ts';

/** Ids that become file names are checked here and nowhere else (P8: no path from an id). */
const AGENT_ID = /^[a-z0-9_][a-z0-9_-]{0,63}$/;
const SESSION_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

export const DEFAULT_AGENT_ID = 'main';

/** For names a person typed into a config file: makes the nearest valid id. APIs use `parseAgentId`. */
export function normalizeAgentId(name: string): string {
  const id = name
    .trim()
    .toLowerCase()
    .replace(/[^a-z0-9_-]+/g, '-')
    .slice(0, 64)
    .replace(/^-+|-+$/g, '');
  return id === '' ? DEFAULT_AGENT_ID : id;
}

export function parseAgentId(id: string): string {
  if (AGENT_ID.test(id)) return id;
  throw new RepriseError('INVALID_ID', `not an agent id: ${quote(id)}; use 1 to 64 of a-z 0-9 _ -`, {
    details: { id, suggestion: normalizeAgentId(id) },
  });
}

export function isSessionId(id: string): boolean {
  return SESSION_ID.test(id) && !id.endsWith('.');
}

export function parseSessionId(id: string): string {
  if (isSessionId(id)) return id;
  throw new RepriseError(
    'INVALID_ID',
    `not a session id: ${quote(id)}; use 1 to 128 of A-Z a-z 0-9 . _ -, starting with a letter or digit`,
    { details: { id } },
  );
}

/** Windows opens a device for these file names, whatever their ending. */
const DEVICE_NAME = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i;

/** For sessions that are created: one that exists under such a name still opens. */
export function parseNewSessionId(id: string): string {
  if (!DEVICE_NAME.test(id)) return parseSessionId(id);
  throw new RepriseError(
    'INVALID_ID',
    `not a session id: ${quote(id)}; it is the name of a device on Windows, so the home could not be copied there`,
    { details: { id } },
  );
}

/** Shows an untrusted id in a message: JSON-escaped, so that no control or bidi character reaches a terminal. */
function quote(id: string): string {
  const shown = id.length > 80 ? `${id.slice(0, 80)}…` : id;
  return JSON.stringify(shown).replace(
    /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
