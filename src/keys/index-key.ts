import { parseSessionKey } from './session-key.ts';

/*
 * In an index by session key, the format of OpenClaw, a key leads to one session: the active one. Every other session
 * of that key gets a separate index key. Other tools see it as another conversation of the same agent.
 */

export function inactiveIndexKey(key: string, sessionId: string): string {
  return `${key}:session:${sessionId}`;
}

/** The session key of an index key, and whether the session is the active one of that key. */
export function parseIndexKey(
  indexKey: string,
  sessionId: string,
): { readonly key: string; readonly active: boolean } {
  const end = inactiveIndexKey('', sessionId);
  let key = indexKey;
  // Without this check the real key `agent:main:session:<id>` would lose its end.
  while (key.endsWith(end) && isSessionKey(key.slice(0, -end.length))) key = key.slice(0, -end.length);
  return { key, active: key === indexKey };
}

function isSessionKey(text: string): boolean {
  try {
    parseSessionKey(text);
    return true;
  } catch {
    return false;
  }
}
