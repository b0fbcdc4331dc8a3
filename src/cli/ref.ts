import { RepriseError } from '../errors.ts';
import { isSessionId } from '../keys/ids.ts';
import type { SessionRecord, Store } from '../store/store.ts';

const SCAN_LIMIT = 1000;

/**
 * A ref names a session everywhere: its id or a unique start of it, a session key, the start of a label or title,
 * `@last`, `@-2` (the one before the last), or its number in the list. What fits several is refused, with the candidates.
 */
export async function resolveRef(store: Store, ref: string): Promise<SessionRecord> {
  const { sessions } = await store.list({ limit: SCAN_LIMIT, status: 'any' });
  const nth = nthOf(ref);
  if (nth !== undefined) {
    const session = sessions.filter(({ status }) => status === 'open')[nth];
    if (session !== undefined) return session;
    throw notFound(ref);
  }
  if (ref.includes(':')) {
    const active = await store.active(ref);
    if (active !== undefined) return active;
    const byKey = sessions.filter(({ sessionKey }) => sessionKey === ref);
    return only(ref, byKey);
  }
  if (isSessionId(ref)) {
    const exact = sessions.find(({ id }) => id === ref);
    if (exact !== undefined) return exact;
  }
  const byId = sessions.filter(({ id }) => id.startsWith(ref));
  if (byId.length > 0) return only(ref, byId);
  const wanted = ref.toLowerCase();
  const named = sessions.filter(({ label, title }) =>
    [label, title].some((name) => name?.toLowerCase().startsWith(wanted)),
  );
  return only(ref, named);
}

function nthOf(ref: string): number | undefined {
  if (ref === '@last') return 0;
  const [, back] = /^@-([1-9]\d*)$/.exec(ref) ?? [];
  if (back !== undefined) return Number(back) - 1;
  // A short number is a place in the list; ids made of digits only are longer.
  return /^[1-9]\d{0,3}$/.test(ref) ? Number(ref) - 1 : undefined;
}

function only(ref: string, candidates: readonly SessionRecord[]): SessionRecord {
  const [first, ...others] = candidates;
  if (first === undefined) throw notFound(ref);
  if (others.length === 0) return first;
  const shown = candidates.slice(0, 8).map(({ id, title }) => `  ${id}  ${title}`);
  throw new RepriseError('AMBIGUOUS_REF', `"${ref}" fits ${candidates.length} sessions`, {
    details: {
      candidates: candidates.map(({ id }) => id),
      next: `Say more of one of these:\n${shown.join('\n')}`,
    },
  });
}

function notFound(ref: string): RepriseError {
  return new RepriseError('SESSION_NOT_FOUND', `no session "${ref}"`, {
    details: { ref, next: '"reprise ls" lists what is there.' },
  });
}
