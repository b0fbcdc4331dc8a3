import { RepriseError } from '../../../errors.ts';
import type { ConvlogLine } from '../../port/convlog.ts';
import type { Settlement } from '../../port/inbox.ts';
import { keyText } from '../../port/key-text.ts';
import { isForNobody } from '../../port/nobody.ts';
import type { AppendReceipt } from '../../port/store.ts';
import type { AppendRequest, KnownKey } from '../../rules/append-rule.ts';
import type { ReceiveRequest } from '../../rules/inbound.ts';
import type { EndFacts } from '../../rules/turn-rule.ts';
import { type StoreContext, transaction } from '../connection/transaction.ts';
import type { Tx } from '../connection/tx.ts';
import { lockAll, refuseUnknown, type SessionRow } from '../rows.ts';
import { append } from './append.ts';
import { writeLog } from './convlog-rows.ts';
import { receive, settleRows } from './inbox.ts';
import { isHolder } from './leases.ts';
import { endFacts } from './turns.ts';

export interface FullAppendRequest extends AppendRequest {
  readonly settle?: readonly Settlement[];
  readonly deliver?: readonly ReceiveRequest[];
  readonly log?: readonly ConvlogLine[];
  /** Set for the end of a turn: whether to release its lease too. */
  readonly release?: boolean;
}

export type AppendOutcome =
  | { readonly kind: 'done'; readonly receipt: AppendReceipt; readonly end?: EndFacts }
  | { readonly kind: 'refused'; readonly error: RepriseError }
  /** Not processed: another transaction has locked its session, or the batch was full. */
  | { readonly kind: 'later' };

/** Limit of one transaction; a larger one would delay other writers more than the saved commit is worth. */
const MAX_BATCH_BYTES = 1024 * 1024;
const LATER: AppendOutcome = { kind: 'later' };

/** Whether the request does more than append. Such a request runs alone, because a part of it may be refused late. */
export function tellsMore({ settle = [], deliver = [], log = [], release }: FullAppendRequest): boolean {
  return settle.length + deliver.length + log.length > 0 || release !== undefined;
}

/**
 * Appends to many sessions in one transaction with two round trips: locks and keys, then lines, rows and the commit.
 * Each request succeeds or is refused separately. With several sessions, only unlocked rows are locked, so a batch
 * never waits and cannot deadlock.
 */
export async function appendAll(
  context: StoreContext,
  requests: readonly FullAppendRequest[],
): Promise<AppendOutcome[]> {
  return transaction(context, async (tx) => {
    const scenes = await findScenes(tx, requests);
    const outcomes: AppendOutcome[] = [];
    let bytes = 0;
    for (const request of requests) {
      const row = scenes.rows.get(request.id);
      if (bytes >= MAX_BATCH_BYTES) outcomes.push(LATER);
      else if (row === undefined && scenes.isPartial) outcomes.push(LATER);
      else {
        const before = row?.bytes ?? 0;
        outcomes.push(await one(tx, request, row, scenes));
        bytes += (row?.bytes ?? 0) - before;
      }
    }
    return outcomes;
  });
}

interface Scenes {
  readonly rows: ReadonlyMap<string, SessionRow>;
  readonly keys: Map<string, KnownKey>;
  /** True if rows that other transactions have locked are missing. */
  readonly isPartial: boolean;
}

/** Takes one round trip. The second statement sees what was committed before the locks were granted. */
async function findScenes(tx: Tx, requests: readonly FullAppendRequest[]): Promise<Scenes> {
  const ids = [...new Set(requests.map(({ id }) => id))];
  const isPartial = ids.length > 1;
  const keyed = requests.filter(({ key }) => key !== undefined);
  const [rows, keys] = await Promise.all([
    lockAll(tx, ids, { skipLocked: isPartial }),
    keyed.length === 0
      ? []
      : tx.query<KnownKey & { session_id: string; key: string }>(
          `SELECT k.session_id, k.key, k.hash, k.first_seq, k.last_seq
           FROM unnest($1::text[], $2::text[]) AS asked (session_id, key)
           JOIN reprise.append_keys AS k USING (session_id, key)`,
          [keyed.map(({ id }) => id), keyed.map(({ key = '' }) => keyText(key))],
        ),
  ]);
  return {
    rows: new Map(rows.map((row) => [row.id, row])),
    keys: new Map(keys.map((known) => [`${known.session_id} ${known.key}`, known])),
    isPartial,
  };
}

async function one(
  tx: Tx,
  request: FullAppendRequest,
  row: SessionRow | undefined,
  { keys }: Scenes,
): Promise<AppendOutcome> {
  const { id, key } = request;
  try {
    if (row === undefined) return await refuseUnknown(tx, id);
    const name = key === undefined ? '' : `${id} ${keyText(key)}`;
    const { receipt, hash, isFresh } = await append(tx, request, { row, known: keys.get(name) });
    // For a later request of this batch with the same key.
    if (key !== undefined) keys.set(name, { hash, first_seq: receipt.firstSeq, last_seq: receipt.lastSeq });
    if (isFresh && request.log !== undefined)
      await writeLog(
        tx,
        request.log.map((line) => ({ sessionId: id, ...line })),
      );
    // Any caller gets the receipt of a known key, but a caller that lost the lease settles nothing (I-32).
    const isOurs = request.epoch === undefined || isHolder(row, request.epoch);
    if (tellsMore(request) && isOurs) await tell(tx, request);
    const { epoch, release, settle = [] } = request;
    if (release === undefined || epoch === undefined) return { kind: 'done', receipt };
    const inboxIds = settle.map(({ inboxId }) => inboxId);
    return { kind: 'done', receipt, end: await endFacts(tx, row, { epoch, inboxIds, release }) };
  } catch (error) {
    // Refused before anything was written. A request with more parts runs alone and rolls back its transaction.
    if (error instanceof RepriseError && tx.failure === undefined && !tellsMore(request))
      return { kind: 'refused', error };
    throw error;
  }
}

async function tell(tx: Tx, { settle = [], deliver = [] }: FullAppendRequest): Promise<void> {
  await settleRows(tx, settle);
  for (const inbound of deliver) {
    try {
      await tx.attempt(() => receive(tx, inbound));
    } catch (error) {
      if (!isForNobody(error)) throw error;
    }
  }
}
