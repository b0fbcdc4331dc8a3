import { relative, resolve, sep } from 'node:path';
import { AUDIT_SESSION_ID } from '../engine/admin/audit.ts';
import { resolveRef } from '../engine/admin/ref.ts';
import type { Reprise } from '../engine/reprise.ts';
import { wrongValue } from '../engine/settings-patch.ts';
import { failure } from '../messages/failure.ts';
import { noneIfGone } from '../store/port/nobody.ts';
import type { ListQuery, SessionPage, SessionRecord } from '../store/port/store.ts';

/** Which sessions a client may see. A session outside gets the same answer as one that does not exist. */
export interface SessionScope {
  sees(record: SessionRecord): Promise<boolean>;
}

export const WHOLE_HOME: SessionScope = { sees: async () => true };

/** The sessions of one user of an application. */
export function ownedBy(user: string): SessionScope {
  return { sees: async ({ owner }) => owner === user };
}

/** The sessions that were held in a folder or below it. A session without a folder is in none. */
export class FolderScope implements SessionScope {
  readonly #reprise: Reprise;
  readonly #folder: string;
  /** The header of a session never changes. */
  readonly #seen = new Map<string, boolean>();

  constructor(reprise: Reprise, folder: string) {
    this.#reprise = reprise;
    this.#folder = resolve(folder);
  }

  async sees({ id }: SessionRecord): Promise<boolean> {
    const known = this.#seen.get(id);
    if (known !== undefined) return known;
    const { entries } = await this.#reprise.store.read(id, { from: 1, limit: 1 });
    const header = entries[0]?.entry;
    const cwd = header?.type === 'session' ? header['cwd'] : undefined;
    const isSeen = typeof cwd === 'string' && cwd !== '' && isInside(this.#folder, cwd);
    this.#seen.set(id, isSeen);
    return isSeen;
  }
}

function isInside(folder: string, path: string): boolean {
  const way = relative(folder, resolve(path));
  return way !== '..' && !way.startsWith(`..${sep}`);
}

/** The answer for every session that a client cannot read. */
function missingSession(ref: string): Error {
  return failure('SESSION_NOT_FOUND', 'session.missing', { ref, isTrash: false });
}

/** The sessions of a scope, found like those of a whole home. */
export class VisibleSessions {
  readonly #store: Reprise['store'];
  readonly #scope: SessionScope;

  constructor({ store }: Reprise, scope: SessionScope) {
    this.#store = store;
    this.#scope = scope;
  }

  async list(query: ListQuery): Promise<SessionPage> {
    const page = await this.#store.list({ ...query, status: 'open' });
    const seen = await Promise.all(page.sessions.map((record) => this.#sees(record)));
    return { ...page, sessions: page.sessions.filter((_, at) => seen[at] === true) };
  }

  /** @returns `undefined` for a session that is deleted or outside the scope. */
  async get(id: string): Promise<SessionRecord | undefined> {
    const record = await this.#store.get(id).catch(noneIfGone);
    return record !== undefined && (await this.#sees(record)) ? record : undefined;
  }

  /** Looks only at visible sessions, so that an ambiguous name does not list others. */
  async find(ref: unknown): Promise<SessionRecord> {
    if (typeof ref !== 'string' || ref === '') throw wrongValue('session', ref, [{ is: 'nonEmptyText' }]);
    const own = {
      list: (query: ListQuery = {}) => this.list(query),
      get: async (id: string) => (await this.get(id)) ?? Promise.reject(missingSession(id)),
      active: async (key: string) => {
        const record = await this.#store.active(key);
        return record !== undefined && (await this.#sees(record)) ? record : undefined;
      },
    };
    return resolveRef(own, ref, { status: 'open' });
  }

  async #sees(record: SessionRecord): Promise<boolean> {
    return record.status === 'open' && record.id !== AUDIT_SESSION_ID && this.#scope.sees(record);
  }
}
