import { RepriseError } from '../errors.ts';
import { isSessionId } from '../keys/ids.ts';
import { noneIfGone } from '../store/nobody.ts';
import type { SessionPage, SessionRecord, Store } from '../store/store.ts';

const PAGE = 1000;
const SHOWN = 8;

type Sessions = Pick<Store, 'list' | 'get' | 'active'>;

export interface RefOptions {
  /** `open`: what is in the trash is not found. `deleted`: only what is there, numbered as the trash is listed. */
  readonly status?: 'open' | 'deleted' | 'any';
}

/** Archived sessions are out of the way: lists leave them out and their numbers pass over them. */
export function isListed({ settings }: Pick<SessionRecord, 'settings'>): boolean {
  return settings['archived'] !== true;
}

/**
 * A ref names a session everywhere: its id, session key, label or title, or a unique start of one of them, `@last`,
 * `@-2` (the one before the last), or its number in the list. What fits several is refused, with the candidates; what
 * is in the trash counts only where nothing else fits.
 */
export async function resolveRef(
  store: Sessions,
  ref: string,
  { status = 'any' }: RefOptions = {},
): Promise<SessionRecord> {
  const nth = nthOf(ref);
  if (nth !== undefined) return byNumber(store, ref, nth, status === 'deleted' ? 'deleted' : 'open');
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
  // A start is unique among all or not at all, so all are looked at, a page at a time.
  const fits = steps.map((): SessionRecord[] => []);
  if (ref !== '')
    for await (const record of each(store, status))
      for (const [i, step] of steps.entries()) if (step(record)) fits[i]?.push(record);
  const candidates = fits.find(({ length }) => length > 0);
  if (candidates === undefined) throw notFound(ref, status);
  const open = candidates.filter((record) => record.status === 'open');
  return only(ref, open.length > 0 ? open : candidates);
}

/** As the list of open sessions, or that of the trash, counts them. */
async function byNumber(
  store: Sessions,
  ref: string,
  nth: number,
  status: 'open' | 'deleted',
): Promise<SessionRecord> {
  let left = nth;
  for await (const record of each(store, status)) {
    if (!isListed(record)) continue;
    if (left === 0) return record;
    left--;
  }
  throw notFound(ref, status);
}

async function* each(
  store: Sessions,
  status: NonNullable<RefOptions['status']>,
): AsyncGenerator<SessionRecord> {
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page: SessionPage = await store.list({
      limit: PAGE,
      status,
      ...(cursor !== undefined && { cursor }),
    });
    yield* page.sessions;
    cursor = page.cursor;
  }
}

async function byId(store: Pick<Store, 'get'>, ref: string): Promise<SessionRecord | undefined> {
  return isSessionId(ref) ? store.get(ref).catch(noneIfGone) : undefined;
}

async function byKey(store: Pick<Store, 'active'>, ref: string): Promise<SessionRecord | undefined> {
  if (!ref.includes(':')) return undefined;
  try {
    return await store.active(ref);
  } catch (error) {
    // A name that happens to look like a key.
    if (error instanceof RepriseError && ['INVALID_KEY', 'INVALID_ID'].includes(error.code)) return undefined;
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
  if (first !== undefined && others.length === 0) return first;
  const shown = candidates.slice(0, SHOWN).map(({ id, label, title }) => `  ${id}  ${label ?? title}`);
  const left = candidates.length - SHOWN;
  const more = left > 0 ? [`  … ${left} more`] : [];
  throw new RepriseError('AMBIGUOUS_REF', `"${ref}" fits ${candidates.length} sessions`, {
    details: {
      candidates: candidates.map(({ id }) => id),
      next: `Say more of one of these:\n${[...shown, ...more].join('\n')}`,
    },
  });
}

function notFound(ref: string, status: RefOptions['status']): RepriseError {
  const isTrash = status === 'deleted';
  return new RepriseError('SESSION_NOT_FOUND', `no session "${ref}"${isTrash ? ' in the trash' : ''}`, {
    details: {
      ref,
      next: isTrash
        ? '"reprise ls --deleted" lists what is there.'
        : '"reprise ls" and /sessions list what is there.',
    },
  });
}
