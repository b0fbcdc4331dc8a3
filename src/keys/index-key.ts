import { parseSessionKey } from './session-key.ts';

/*
 * In an index by session key, which is the form of OpenClaw, a key stands for one session: the active one. Every other
 * session of that key gets its own index key. Other tools take it for another conversation of the same agent.
 */

export function inactiveIndexKey(key: string, sessionId: string): string {
  return `${key}:session:${sessionId}`;
}

/** The session key that an index key stands for, and whether the session is the active one of that key. */
export function parseIndexKey(
  indexKey: string,
  sessionId: string,
): { readonly key: string; readonly active: boolean } {
  const end = inactiveIndexKey('', sessionId);
  let key = indexKey;
  // Without the check `agent:main:session:<id>`, a real key, would lose its end.
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
