import { randomBytes } from 'node:crypto';
import { RepriseError } from '../errors.ts';
import type { SessionInit, SessionRecord, Store } from '../store/store.ts';
import type { Profile } from './profiles.ts';

export const MAX_ID_TRIES = 20;

/**
 * An id for a new session in the form people of its system know; undefined: the store's own. `attempt` counts those
 * that were taken already.
 */
export function newSessionId(form: Profile['sessionId'], now: Date, attempt = 0): string | undefined {
  switch (form) {
    case 'uuid':
      return undefined;
    case 'hex12':
      return randomBytes(6).toString('hex');
    case 'ses-ms':
      return `ses-${now.getTime() + attempt}`;
    default:
      form satisfies never;
      throw new RepriseError('CONFIG_INVALID', 'no such form of session ids');
  }
}

/** Short ids may be taken: two sessions begin in one millisecond. Then the next one is tried. */
export async function createWithId(
  store: Store,
  init: Omit<SessionInit, 'id'>,
  idFor: (attempt: number) => string | undefined,
): Promise<SessionRecord> {
  for (let attempt = 0; ; attempt++) {
    try {
      const id = idFor(attempt);
      return await store.create({ ...init, ...(id !== undefined && { id }) });
    } catch (error) {
      if (!isTaken(error) || attempt >= MAX_ID_TRIES) throw error;
    }
  }
}

export function isTaken(error: unknown): boolean {
  return error instanceof RepriseError && (error.code === 'SESSION_EXISTS' || error.code === 'GONE');
}
