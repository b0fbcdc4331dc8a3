import { RepriseError } from '../../errors.ts';
import { isSessionId } from '../../keys/ids.ts';
import { failure } from '../../messages/failure.ts';
import { CursorChain } from '../../store/port/cursor-chain.ts';
import { noneIfGone } from '../../store/port/nobody.ts';
import type { SessionPage, SessionRecord, Store } from '../../store/port/store.ts';
import { isObject } from '../../transcript/json.ts';

const PAGE = 1000;
const SHOWN = 8;

type Sessions = Pick<Store, 'list' | 'get' | 'active'>;

export interface RefOptions {
  /** `open`: excludes sessions in the trash. `deleted`: only those. */
  readonly status?: 'open' | 'deleted' | 'any';
}

/** Lists exclude archived sessions, and so do `@last` and `@-2`. */
export function isListed({ settings }: Pick<SessionRecord, 'settings'>): boolean {
  return settings['archived'] !== true;
}

/**
 * Resolves a ref, the name of a session on all surfaces: its id, session key, key in the system it was imported from,
 * label or title, or a unique start of one of them, `@last` or `@-2` (the one before the last). An ambiguous ref is
 * refused with the candidates. Sessions in the trash count only if no other session matches. A list number is not a
 * ref, because the order of a list changes with every message (I-49).
 */
export async function resolveRef(
  store: Sessions,
  ref: string,
  { status = 'any' }: RefOptions = {},
): Promise<SessionRecord> {
  const nth = nthOf(ref);
  if (nth !== undefined) return byNumber(store, ref, nth, status === 'deleted' ? 'deleted' : 'open');
  const exact = (await byId(store, ref)) ?? (await byKey(store, ref));
  const isNumber = isListNumber(ref);
  if (exact !== undefined && (status === 'any' || exact.status === status)) return exact;
  const wanted = ref.toLowerCase();
  const names = ({ label, title }: SessionRecord): string[] => [label ?? '', title];
  // A whole name wins over longer ones that start with it. A list number must not match a name or id that starts with
  // it.
  const steps: ((record: SessionRecord) => boolean)[] = [
    ({ id }) => !isNumber && id.startsWith(ref),
    ({ sessionKey }) => sessionKey === ref,
    (record) => importedKey(record) === ref,
    (record) => names(record).some((name) => name.toLowerCase() === wanted),
    (record) => !isNumber && names(record).some((name) => name.toLowerCase().startsWith(wanted)),
    ({ sessionKey }) => ref.includes(':') && sessionKey.startsWith(ref),
    (record) => ref.includes(':') && importedKey(record)?.startsWith(ref) === true,
  ];
  // Whether a start is unique depends on all sessions, so all are checked, one page at a time.
  const fits = steps.map((): SessionRecord[] => []);
  if (ref !== '')
    for await (const record of each(store, status))
      for (const [i, step] of steps.entries()) if (step(record)) fits[i]?.push(record);
  const candidates = fits.find(({ length }) => length > 0);
  if (candidates === undefined) throw isNumber ? notARef(ref) : notFound(ref, status);
  const open = candidates.filter((record) => record.status === 'open');
  return only(ref, open.length > 0 ? open : candidates);
}

/** The session's key in the system it was imported from, if it differs from its key here. */
function importedKey({ settings: { importedFrom } }: SessionRecord): string | undefined {
  const key = isObject(importedFrom) ? importedFrom['key'] : undefined;
  return typeof key === 'string' ? key : undefined;
}

/** Counts from the newest session, which is 0. */
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
  const cursors = new CursorChain();
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page: SessionPage = await store.list({
      limit: PAGE,
      status,
      ...(cursor !== undefined && { cursor }),
    });
    yield* page.sessions;
    cursor = cursors.next(page.cursor);
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
  return back === undefined ? undefined : Number(back) - 1;
}

/** Whether the text is the number of a line in a printed list. Ids that consist of digits are longer. */
export function isListNumber(ref: string): boolean {
  return /^[1-9]\d{0,3}$/.test(ref);
}

/** The session at a number of the last printed list. */
export function listedSession(listed: readonly string[] | undefined, ref: string): string {
  const id = listed?.[Number(ref) - 1];
  if (id !== undefined) return id;
  const params = { ref, listed: listed?.length ?? null };
  throw failure('SESSION_NOT_FOUND', 'session.notInList', params, { details: { ref } });
}

function notARef(ref: string): RepriseError {
  return failure('INVALID_INPUT', 'session.listNumber', { ref }, { details: { ref } });
}

function only(ref: string, candidates: readonly SessionRecord[]): SessionRecord {
  const [first, ...others] = candidates;
  if (first !== undefined && others.length === 0) return first;
  const shown = candidates.slice(0, SHOWN).map(({ id, label, title }) => `  ${id}  ${label ?? title}`);
  const params = { ref, sessions: candidates.length, shown };
  const ids = candidates.map(({ id }) => id);
  throw failure('AMBIGUOUS_REF', 'session.ambiguous', params, { details: { candidates: ids } });
}

function notFound(ref: string, status: RefOptions['status']): RepriseError {
  const isTrash = status === 'deleted';
  return failure('SESSION_NOT_FOUND', 'session.missing', { ref, isTrash }, { details: { ref } });
}
