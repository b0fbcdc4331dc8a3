import { type Pin, pinsInForce } from '../../compaction/pins.ts';
import type { RepriseError } from '../../errors.ts';
import { failure } from '../../messages/failure.ts';
import type { Store, StoredEntry } from '../../store/port/store.ts';
import type { Entry } from '../../transcript/entry.ts';
import { isObject } from '../../transcript/json.ts';
import { sealPlace } from '../../transcript/seal.ts';
import { newestFirst } from '../history/read-history.ts';

/** A retry with the same key, in any process, changes nothing and gets the same answer. */
export interface Keyed {
  readonly idempotencyKey?: string | undefined;
  /** The key was created for this request, so no earlier request can have used it, and none is searched. */
  readonly isFresh?: boolean | undefined;
}

/** The steps that one appended line performs. */
export type Asked = 'undo' | 'redo' | 'branch' | 'compact' | 'pin' | 'unpin';

/**
 * The key under which a request's line is appended. A retry, at another server or after a restart, finds the line by it
 * and gets the answer of the first request (I-77).
 */
export function requestKey(idempotencyKey: string): string {
  return `request:${idempotencyKey}`;
}

/** The append key of an earlier request. @returns undefined if there can be none. */
export function earlierKey({ idempotencyKey, isFresh = false }: Keyed): string | undefined {
  return idempotencyKey === undefined || isFresh ? undefined : requestKey(idempotencyKey);
}

/**
 * Searches a session from its end for the line of a request. `isBefore` stops the search: the line cannot be before that
 * entry. @returns undefined if the request has left no line.
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
 * The pins right after a request had pinned or unpinned, as the first answer listed them, whatever was pinned since.
 * `entryIds`: the entries that the request must have been about. @returns undefined if it has done nothing yet.
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

/** A key belongs to one request: the step that it did must be the step that is requested now. */
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
