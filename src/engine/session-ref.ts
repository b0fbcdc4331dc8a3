import { formatSessionKey, normalizeSessionKey } from '../keys/session-key.ts';
import { checkNames } from './check-config.ts';

/** A conversation by what it is about, for programs that do not build session keys. */
export interface SessionRef {
  /** The agent that answers. Default: `main`. */
  readonly agent?: string;
  /** The user whose conversation it is; a session that is created for it belongs to this user. */
  readonly user?: string;
  /** One of several conversations, such as a topic or a document. */
  readonly thread?: string;
}

export interface NamedSession {
  readonly key: string;
  readonly owner?: string;
}

/** The key of a conversation, and the owner of a session that is created for it. */
export function namedSession(ref: string | SessionRef): NamedSession {
  if (typeof ref === 'string') return { key: normalizeSessionKey(ref) };
  checkNames('session', ref, ['agent', 'user', 'thread']);
  const { agent: agentId = 'main', user, thread } = ref;
  const threads = thread === undefined ? {} : { threads: [{ marker: 'thread' as const, id: thread }] };
  if (user === undefined)
    return { key: formatSessionKey({ kind: 'main', agentId, mainKey: 'main', ...threads }) };
  return { key: formatSessionKey({ kind: 'direct', agentId, peer: user, ...threads }), owner: user };
}
