import { RepriseError } from '../errors.ts';
import { isSessionId } from '../keys/ids.ts';
import type { SessionRecord, Store } from '../store/store.ts';

const SCAN_LIMIT = 1000;
const SHOWN = 8;

export interface RefOptions {
  /** `open`: what is in the trash is not found. */
  readonly status?: 'open' | 'any';
}

/**
 * A ref names a session everywhere: its id, session key, label or title, or a unique start of one of them, `@last`,
 * `@-2` (the one before the last), or its number in the list. What fits several is refused, with the candidates.
 */
export async function resolveRef(
  store: Pick<Store, 'list' | 'get' | 'active'>,
  ref: string,
  { status = 'any' }: RefOptions = {},
): Promise<SessionRecord> {
  const { sessions } = await store.list({ limit: SCAN_LIMIT, status });
  const nth = nthOf(ref);
  if (nth !== undefined) {
    const session = sessions.filter((record) => record.status === 'open')[nth];
    if (session !== undefined) return session;
    throw notFound(ref);
  }
  const exact = (await byId(store, ref)) ?? (await byKey(store, ref));
  if (exact !== undefined && (status === 'any' || exact.status === status)) return exact;
  const wanted = ref.toLowerCase();
  const names = ({ label, title }: SessionRecord): string[] => [label ?? '', title];
  // Whoever writes a whole name means it, even where longer ones begin with it.
  const steps: ((record: SessionRecord) => boolean)[] = [
    ({ id }) => id.startsWith(ref),
    ({ sessionKey }) => sessionKey === ref,
    (record) => names(record).some((name) => name.toLowerCase() === wanted),
    (record) => names(record).some((name) => name.toLowerCase().startsWith(wanted)),
    ({ sessionKey }) => ref.includes(':') && sessionKey.startsWith(ref),
  ];
  for (const fits of ref === '' ? [] : steps) {
    const candidates = sessions.filter(fits);
    if (candidates.length > 0) return only(ref, candidates);
  }
  throw notFound(ref);
}

async function byId(store: Pick<Store, 'get'>, ref: string): Promise<SessionRecord | undefined> {
  return isSessionId(ref) ? absent(store.get(ref), ['SESSION_NOT_FOUND', 'GONE']) : undefined;
}

async function byKey(store: Pick<Store, 'active'>, ref: string): Promise<SessionRecord | undefined> {
  return ref.includes(':') ? absent(store.active(ref), ['INVALID_KEY', 'INVALID_ID']) : undefined;
}

async function absent(
  found: Promise<SessionRecord | undefined>,
  codes: readonly string[],
): Promise<SessionRecord | undefined> {
  try {
    return await found;
  } catch (error) {
    // A name that happens to look like an id or a key.
    if (error instanceof RepriseError && codes.includes(error.code)) return undefined;
    throw error;
  }
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
  const shown = candidates.slice(0, SHOWN).map(({ id, label, title }) => `  ${id}  ${label ?? title}`);
  throw new RepriseError('AMBIGUOUS_REF', `"${ref}" fits ${candidates.length} sessions`, {
    details: {
      candidates: candidates.map(({ id }) => id),
      next: `Say more of one of these:\n${shown.join('\n')}`,
    },
  });
}

function notFound(ref: string): RepriseError {
  return new RepriseError('SESSION_NOT_FOUND', `no session "${ref}"`, {
    details: { ref, next: '"reprise ls" and /sessions list what is there.' },
  });
}
