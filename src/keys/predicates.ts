/**
 * Quick tests of a key, under the names that other tools use. They only look at its form and never throw, so they
 * work with keys from elsewhere; `parseSessionKey` is the strict parser.
 */

export interface AgentSessionKey {
  readonly agentId: string;
  readonly rest: string;
}

export function parseAgentSessionKey(key: string): AgentSessionKey | null {
  const [prefix, agentId, ...rest] = key.split(':');
  if (prefix !== 'agent' || !agentId || !rest[0]) return null;
  return { agentId, rest: rest.join(':') };
}

export function isSubagentSessionKey(key: string): boolean {
  return parseAgentSessionKey(key)?.rest.startsWith('subagent:') ?? false;
}

export function isAcpSessionKey(key: string): boolean {
  return parseAgentSessionKey(key)?.rest.startsWith('acp:') ?? false;
}

/** The key above a thread's key, or null if the key is not a thread's. The last marker counts. */
export function resolveThreadParentSessionKey(key: string): string | null {
  const segments = key.split(':');
  const marker = segments.at(-2);
  if (segments.length < 5 || segments[0] !== 'agent' || (marker !== 'thread' && marker !== 'topic'))
    return null;
  return segments.slice(0, -2).join(':');
}
