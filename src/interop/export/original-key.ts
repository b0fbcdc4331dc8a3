import { RepriseError } from '../../errors.ts';
import { type RouteInput, resolveSessionKey } from '../../keys/resolve.ts';
import { parseSessionKey } from '../../keys/session-key.ts';
import type { SessionDocument } from '../session-document.ts';

/*
 * The keys by which claw0 and ZeroClaw look for a conversation. An import of them leads back to the same conversation here;
 * a conversation for which they have no such key keeps its own.
 */

type KeyedDocument = Pick<SessionDocument, 'agentId' | 'key' | 'sourceKey'>;

/** `<agent>:<channel>:<peer>`. There is no form for groups, threads and accounts. */
export function classicKey({ agentId, key, sourceKey }: KeyedDocument): string {
  if (sourceKey !== undefined && isClassicKey(sourceKey, agentId)) return sourceKey;
  const from = key === `agent:${agentId}:main` ? { channel: 'cli', peer: 'user' } : routeOf(key);
  if (from?.peerKind === 'group' || from?.thread !== undefined) return key;
  const short = `${agentId}:${from?.channel}:${from?.peer}`;
  return from !== undefined && isClassicKey(short, agentId) && leadsBack({ ...from, agentId }, key)
    ? short
    : key;
}

/** `direct:<channel>:<sender>`, `group:<channel>:<chat>` and `thread:<channel>:<chat>:<thread>`, all of one agent. */
export function zeroclawKey({ agentId, key, sourceKey }: KeyedDocument): string {
  if (agentId !== 'main') return key;
  if (sourceKey !== undefined && /^(?:direct|group|thread):/.test(sourceKey)) return sourceKey;
  const from = routeOf(key);
  if (from === undefined || !leadsBack(from, key)) return key;
  const { channel, peer, peerKind, thread } = from;
  if (thread !== undefined) return peerKind === 'group' ? `thread:${channel}:${peer}:${thread}` : key;
  return `${peerKind}:${channel}:${peer}`;
}

interface ChatRoute extends RouteInput {
  readonly channel: string;
  readonly peer: string;
}

function routeOf(key: string): ChatRoute | undefined {
  const parts = parseSessionKey(key);
  if (parts.kind !== 'direct' && parts.kind !== 'group') return undefined;
  const { channel, kind: peerKind, threads: [last, ...others] = [] } = parts;
  if (channel === undefined || others.length > 0 || channel.includes(':')) return undefined;
  const peer = parts.kind === 'direct' ? parts.peer : parts.id;
  const thread = last === undefined || last.id.includes(':') ? {} : { thread: last.id };
  return { channel, peer, peerKind, ...thread };
}

function leadsBack(from: RouteInput, key: string): boolean {
  return resolveSessionKey({ agentId: 'main', ...from }) === key;
}

/** Whether an import reads a text as the short key of an agent's conversation with one person. */
function isClassicKey(text: string, agentId: string): boolean {
  if (text.startsWith('agent:') || text.split(':').length !== 3) return false;
  try {
    const parts = parseSessionKey(text);
    return parts.kind === 'direct' && parts.agentId === agentId;
  } catch (error) {
    if (error instanceof RepriseError) return false;
    throw error;
  }
}
