import { type Pin, pinsInForce } from '../../compaction/pins.ts';
import type { RepriseError } from '../../errors.ts';
import { failure } from '../../messages/failure.ts';
import type { Store, StoredEntry } from '../../store/port/store.ts';
import type { Entry } from '../../transcript/entry.ts';
import { isObject } from '../../transcript/json.ts';
import { sealPlace } from '../../transcript/seal.ts';
import { newestFirst } from '../history/read-history.ts';

/** Of whoever asks for something: a second try with it, in whichever process, does nothing and is told the same. */
export interface Keyed {
  readonly idempotencyKey?: string | undefined;
  /** The key was made for this very try: nobody can have asked with it before, and no earlier line is looked for. */
  readonly isFresh?: boolean | undefined;
}

/** What a request can ask of a session that one appended line does. */
export type Asked = 'undo' | 'redo' | 'branch' | 'compact' | 'pin' | 'unpin';

/**
 * The key under which a request's line is appended. Whoever asks again, at another server or in another life of this
 * one, finds the line by it and is told what the first was told (I-77).
 */
export function requestKey(idempotencyKey: string): string {
  return `request:${idempotencyKey}`;
}

/** The key by which an earlier try is to be looked for; undefined: there can be none. */
export function earlierKey({ idempotencyKey, isFresh = false }: Keyed): string | undefined {
  return idempotencyKey === undefined || isFresh ? undefined : requestKey(idempotencyKey);
}

/**
 * The line a request has left in a session, looked for from the end. `isBefore`: it cannot stand before this entry.
 * Undefined: it has left none.
 */
export async function findRequested(
  store: Pick<Store, 'read'>,
  sessionId: string,
  key: string,
  isBefore: (entry: Entry) => boolean = () => false,
): Promise<StoredEntry | undefined> {
  for await (const stored of newestFirst(store, sessionId)) {
    if (stored.entry.seal?.k === key) return stored;
    if (isBefore(stored.entry as Entry)) return undefined;
  }
  return undefined;
}

/**
 * What was pinned when a request had pinned or unpinned: what it was told, whatever was pinned since. `entryIds`: those
 * it must have been about. Undefined: it has done nothing yet.
 */
export function pinsTold(
  all: readonly Entry[],
  asked: Extract<Asked, 'pin' | 'unpin'>,
  keyed: Keyed,
  entryIds?: readonly string[],
): readonly Pin[] | undefined {
  const key = earlierKey(keyed);
  const at = key === undefined ? -1 : all.findIndex(({ seal }) => seal?.k === key);
  const first = all[at];
  if (first?.seal === undefined) return undefined;
  assertAsked(asked, first);
  const end = at + sealPlace(first.seal).n;
  const about = all.slice(at, end).map(({ data }) => (isObject(data) ? data['entryId'] : undefined));
  if (entryIds !== undefined && JSON.stringify(about) !== JSON.stringify(entryIds)) throw keyReused();
  return pinsInForce(all.slice(0, end));
}

/** A key stands for one request: what it has done must be what is asked for now. */
export function assertAsked(asked: Asked, entry: Entry): void {
  if (askedFor(entry) !== asked) throw keyReused();
}

function keyReused(): RepriseError {
  return failure('KEY_REUSED', 'idempotency.keyReused');
}

function askedFor({ type, customType, data, details }: Entry): Asked | undefined {
  const said = isObject(data) ? data : {};
  if (type === 'compaction') {
    const { undoes, redoes } = isObject(details) ? details : {};
    return undoes !== undefined ? 'undo' : redoes !== undefined ? 'redo' : 'compact';
  }
  switch (customType) {
    case 'reprise.leaf':
      return said['redoes'] !== undefined ? 'redo' : said['branch'] === true ? 'branch' : 'undo';
    case 'reprise.activate':
      return said['reason'] === 'redo' ? 'redo' : 'undo';
    case 'reprise.pin':
      return said['text'] === '' ? 'unpin' : 'pin';
    default:
      return undefined;
  }
}
