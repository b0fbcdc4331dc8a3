/**
 * Quick questions about a key, by the names users of other systems know. They look at the shape only and
 * never throw, so they can be asked about keys that came from elsewhere; `parseSessionKey` is the strict reader.
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

/** The key a thread hangs under, or null where the key is no thread's. The last marker wins. */
export function resolveThreadParentSessionKey(key: string): string | null {
  const segments = key.split(':');
  const marker = segments.at(-2);
  if (segments.length < 5 || segments[0] !== 'agent' || (marker !== 'thread' && marker !== 'topic'))
    return null;
  return segments.slice(0, -2).join(':');
}
