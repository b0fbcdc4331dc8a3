import { failure } from '../messages/failure.ts';
import { quoted } from '../messages/quoted.ts';

/** The only check of ids that become file names (P8: no path from an id). */
const AGENT_ID = /^[a-z0-9_][a-z0-9_-]{0,63}$/;
const SESSION_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

export const DEFAULT_AGENT_ID = 'main';

/** For names that a user typed into a configuration file: makes the nearest valid id. APIs use `parseAgentId`. */
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
  const suggestion = normalizeAgentId(id);
  throw failure('INVALID_ID', 'id.badAgent', { id: quoted(id), suggestion }, { details: { id, suggestion } });
}

export function isSessionId(id: string): boolean {
  return SESSION_ID.test(id) && !id.endsWith('.');
}

export function parseSessionId(id: string): string {
  if (isSessionId(id)) return id;
  throw failure('INVALID_ID', 'id.badSession', { id: quoted(id) }, { details: { id } });
}

/** Windows opens a device for these file names, whatever their extension. */
const DEVICE_NAME = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i;

/** For new sessions only: an existing one with such a name still opens. */
export function parseNewSessionId(id: string): string {
  if (!DEVICE_NAME.test(id)) return parseSessionId(id);
  throw failure('INVALID_ID', 'id.deviceName', { id: quoted(id) }, { details: { id } });
}
