import { RepriseError } from '../errors.ts';
import type { Store, StoredEntry } from '../store/store.ts';
import type { Entry } from '../transcript/entry.ts';
import { isObject } from '../transcript/json.ts';

/** Of whoever asks for something: a second try with it, in whichever process, does nothing and is told the same. */
export interface Keyed {
  readonly idempotencyKey?: string | undefined;
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

const PAGE = 200;

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
  for (let from: number | undefined; ; ) {
    const range = { limit: PAGE, direction: 'backward', ...(from !== undefined && { from }) } as const;
    const { entries, hasMore } = await store.read(sessionId, range);
    const newestFirst = [...entries].sort((a, b) => b.seq - a.seq);
    for (const stored of newestFirst) {
      if (stored.entry.seal?.k === key) return stored;
      if (isBefore(stored.entry as Entry)) return undefined;
    }
    const oldest = newestFirst.at(-1);
    if (!hasMore || oldest === undefined || oldest.seq <= 1) return undefined;
    from = oldest.seq - 1;
  }
}

/** A key stands for one request: what it has done must be what is asked for now. */
export function assertAsked(asked: Asked, entry: Entry): void {
  if (askedFor(entry) === asked) return;
  throw new RepriseError('KEY_REUSED', 'this Idempotency-Key was sent with another request', {
    details: { next: 'Use a new key for a new request.' },
  });
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
