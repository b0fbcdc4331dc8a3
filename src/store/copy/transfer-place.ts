import { failure } from '../../messages/failure.ts';
import { isObject } from '../../transcript/json.ts';
import type { TransferRecord } from '../port/transfer.ts';

/** Position of a copy run as plain JSON. The copying program stores it, so it outlives the process. */
export type Place =
  | { readonly at: 'start' }
  | { readonly at: 'items'; readonly after: number; readonly to: number }
  | { readonly at: 'inbound'; readonly after: readonly [string, string, string]; readonly to: number }
  | { readonly at: 'keys'; readonly after: string }
  | SessionPlace
  | { readonly at: 'convlog'; readonly chat: number; readonly after: number }
  | { readonly at: 'purged'; readonly after: string };

const PLACES: ReadonlySet<unknown> = new Set<Place['at']>([
  'start',
  'items',
  'inbound',
  'keys',
  'sessions',
  'convlog',
  'purged',
]);

/** Sessions in order of their ids. `open` is the one being copied, up to the last seq it had when its copy began. */
export interface SessionPlace {
  readonly at: 'sessions';
  readonly after: string;
  readonly open?: OpenSession;
}

export interface OpenSession {
  readonly id: string;
  readonly to: number;
  /** The last blob that was copied; blobs come before lines. */
  readonly blob?: string;
  /** The next line; unset while blobs are copied. */
  readonly from?: number;
}

const PAGE_BYTES = 1024 * 1024;
const PAGE_RECORDS = 1000;
/** Estimated size of a record besides its bytes; it keeps pages small. */
const RECORD_BYTES = 200;

/** Collects the records of one page. */
export class RecordPage {
  readonly records: TransferRecord[] = [];
  #bytes = 0;

  get isFull(): boolean {
    return this.#bytes >= PAGE_BYTES || this.records.length >= PAGE_RECORDS;
  }

  add(record: TransferRecord, bytes = 0): void {
    this.records.push(record);
    this.#bytes += RECORD_BYTES + bytes;
  }

  /** Does nothing if `last` is before `first`. */
  addMissing(session: string, first: number, last: number): void {
    if (first > last) return;
    const lines = first === last ? `line ${first}` : `lines ${first} to ${last}`;
    this.add({ kind: 'damage', session, detail: `${lines} cannot be read` });
  }
}

export function parseCursor(cursor: string): Place {
  try {
    const place: unknown = JSON.parse(cursor);
    if (isObject(place) && PLACES.has(place['at'])) return place as Place;
  } catch {
    // Not JSON; reported below.
  }
  throw failure('INVALID_INPUT', 'copy.badCursor', {}, { details: { cursor } });
}
