import { RepriseError } from '../../errors.ts';
import { isSubagentSessionKey } from '../../keys/predicates.ts';
import { normalizeSessionKey } from '../../keys/session-key.ts';
import { failure } from '../../messages/failure.ts';
import { quoted } from '../../messages/quoted.ts';
import type { SessionRecord, Store } from '../../store/port/store.ts';
import type { SessionReachName } from './tool-policy.ts';

/** Deeper than any real nesting; it ends a loop in imported data. */
const MAX_DEPTH = 32;
const PAGE = 200;
const MAX_LISTED = 200;

export interface ReachOptions {
  readonly store: Store;
  readonly caller: SessionRecord;
  readonly reach: SessionReachName;
}

/** The name of a session for a tool: its key or its label. */
export interface SessionName {
  readonly sessionKey?: string;
  readonly label?: string;
}

/**
 * The sessions that a session may access. The check uses the record that was found, never the name that a model
 * wrote. A session out of reach gets exactly the same answer as a missing one.
 */
export class SessionReach {
  readonly #options: ReachOptions;

  constructor(options: ReachOptions) {
    this.#options = options;
  }

  async find(name: SessionName): Promise<SessionRecord> {
    const { sessionKey, label } = name;
    const given = [sessionKey, label].filter((each) => each !== undefined);
    if (given.length !== 1 || typeof given[0] !== 'string')
      throw failure('INVALID_INPUT', 'tool.sessionName');
    const candidates =
      sessionKey === undefined ? await this.#labelled(label as string) : await this.#keyed(sessionKey);
    const found: SessionRecord[] = [];
    for (const record of candidates) if (await this.sees(record)) found.push(record);
    const [only, ...others] = found;
    if (only === undefined) throw missing(sessionKey ?? label ?? '');
    if (others.length === 0) return only;
    throw failure('AMBIGUOUS_REF', 'tool.sameLabel', { keys: found.map((record) => record.sessionKey) });
  }

  async sees(record: SessionRecord): Promise<boolean> {
    const { caller, reach } = this.#options;
    if (record.status !== 'open') return false;
    if (record.id === caller.id || reach === 'all') return true;
    if (reach === 'agent') return record.agentId === caller.agentId;
    return (await ancestorsOf(this.#options.store, record)).includes(caller.id);
  }

  /** Set if all sessions, or all of an agent, can be reached; `undefined`: only the caller's family. */
  get everyoneOf(): { readonly agentId?: string } | undefined {
    const { caller, reach } = this.#options;
    if (reach === 'tree') return undefined;
    return reach === 'agent' ? { agentId: caller.agentId } : {};
  }

  /** The caller first, then the newest sessions. */
  async list(limit: number): Promise<SessionRecord[]> {
    const { store, caller } = this.#options;
    const { everyoneOf } = this;
    if (everyoneOf === undefined) return this.#tree(limit);
    const { sessions } = await store.list({ ...everyoneOf, limit });
    return [caller, ...sessions.filter(({ id }) => id !== caller.id)].slice(0, limit);
  }

  async #tree(limit: number): Promise<SessionRecord[]> {
    const { store, caller } = this.#options;
    const found = [caller];
    for (let at = 0; at < found.length && found.length < limit; at++) {
      const { id: parentId } = found[at] as SessionRecord;
      const { sessions } = await store.list({ kind: 'subagent', parentId, limit: Math.min(limit, PAGE) });
      // Skip sessions that were already found: a child with two parents, or one that was reset and is its own parent.
      for (const session of sessions) if (!found.some(({ id }) => id === session.id)) found.push(session);
    }
    return found.slice(0, limit);
  }

  async #keyed(sessionKey: string): Promise<SessionRecord[]> {
    try {
      const active = await this.#options.store.active(normalizeSessionKey(sessionKey));
      return active === undefined ? [] : [active];
    } catch (error) {
      // Not a valid key, so no such session exists.
      if (error instanceof RepriseError && NO_KEY.has(error.code)) return [];
      throw error;
    }
  }

  async #labelled(label: string): Promise<SessionRecord[]> {
    const { everyoneOf } = this;
    const all =
      everyoneOf === undefined
        ? await this.#tree(MAX_LISTED)
        : (await this.#options.store.list({ ...everyoneOf, text: label, limit: PAGE })).sessions;
    return all.filter((record) => record.label === label);
  }
}

/** The sessions that spawned a child, nearest first. Forks, threads and resets are not ancestors. */
export async function ancestorsOf(store: Store, record: SessionRecord): Promise<string[]> {
  const ids: string[] = [];
  let at: SessionRecord | undefined = record;
  while (at?.parentId !== undefined && isSubagentSessionKey(at.sessionKey) && ids.length < MAX_DEPTH) {
    ids.push(at.parentId);
    at = await store.get(at.parentId).catch((error: unknown) => {
      if (error instanceof RepriseError) return undefined; // purged, or from another store
      throw error;
    });
  }
  return ids;
}

function missing(name: string): RepriseError {
  return failure('SESSION_NOT_FOUND', 'session.unknown', { id: quoted(name) });
}

const NO_KEY: ReadonlySet<string> = new Set(['INVALID_KEY', 'INVALID_ID', 'LIMIT_EXCEEDED']);
