import { randomBytes } from 'node:crypto';
import { RepriseError } from '../../errors.ts';
import type { Profile } from '../agents/profiles.ts';

const MAX_ID_TRIES = 20;

/**
 * An id for a new session in the form of the profile's system. `attempt` counts ids that were taken already. @returns
 * undefined if the store chooses the id.
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

/** Tries the next id if one is taken: short ids repeat if two sessions start in one millisecond. */
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
