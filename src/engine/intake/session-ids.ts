import { randomBytes } from 'node:crypto';
import { RepriseError } from '../../errors.ts';
import type { Profile } from '../agents/profiles.ts';

const MAX_ID_TRIES = 20;

/**
 * An id for a new session in the form people of its system know; undefined: the store's own. `attempt` counts those
 * that were taken already.
 */
function newSessionId(form: Profile['sessionId'], now: Date, attempt: number): string | undefined {
  switch (form) {
    case 'uuid':
      return undefined;
    case 'hex12':
      return randomBytes(6).toString('hex');
    case 'ses-ms':
      return `ses-${now.getTime() + attempt}`;
    default:
      return form satisfies never;
  }
}

/** Short ids may be taken: two sessions begin in one millisecond. Then the next one is tried. */
export async function withNewId<T>(
  form: Profile['sessionId'],
  now: () => Date,
  make: (id: { readonly id?: string }) => Promise<T>,
): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    const id = newSessionId(form, now(), attempt);
    try {
      return await make(id === undefined ? {} : { id });
    } catch (error) {
      const isTaken = error instanceof RepriseError && TAKEN.has(error.code);
      if (!isTaken || id === undefined || attempt >= MAX_ID_TRIES) throw error;
    }
  }
}

const TAKEN: ReadonlySet<string> = new Set(['SESSION_EXISTS', 'GONE']);
