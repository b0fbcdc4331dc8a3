import { RepriseError } from '../../../errors.ts';
import type { ConvlogLine } from '../../port/convlog.ts';
import { keyText } from '../../port/key-text.ts';
import { isForNobody } from '../../port/nobody.ts';
import type { AppendReceipt, Settlement } from '../../port/store.ts';
import type { AppendRequest, KnownKey } from '../../rules/append-rule.ts';
import type { ReceiveRequest } from '../../rules/inbound.ts';
import { type StoreContext, transaction } from '../connection/transaction.ts';
import type { Tx } from '../connection/tx.ts';
import { lockAll, refuseUnknown, type SessionRow } from '../rows.ts';
import { append } from './append.ts';
import { writeLog } from './convlog-rows.ts';
import { receive, settleRows } from './inbox.ts';
import { isHolder } from './leases.ts';

export interface FullAppendRequest extends AppendRequest {
  readonly settle?: readonly Settlement[];
  readonly deliver?: readonly ReceiveRequest[];
  readonly log?: readonly ConvlogLine[];
}

export type AppendOutcome =
  | { readonly kind: 'done'; readonly receipt: AppendReceipt }
  | { readonly kind: 'refused'; readonly error: RepriseError }
  /** Not looked at: its session was locked by somebody else, or the batch was full. */
  | { readonly kind: 'later' };

/** Beyond this a transaction would keep others waiting for longer than one commit is worth. */
const MAX_BATCH_BYTES = 1024 * 1024;
const LATER: AppendOutcome = { kind: 'later' };

/** Whether it does more than append, and so cannot share a transaction: a part of it may be refused late. */
export function tellsMore({ settle = [], deliver = [], log = [] }: FullAppendRequest): boolean {
  return settle.length + deliver.length + log.length > 0;
}

/**
 * Appends of many sessions in one transaction, of two round trips: locks and keys, then lines, rows and the
 * commit. Each is refused or done by itself. Several sessions are locked only as far as nobody else has them, so that a
 * batch never waits, and nobody in a circle.
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
  /** Those that somebody else has locked are not among the rows. */
  readonly isPartial: boolean;
}

/** One round trip. The second statement sees what was committed before the locks were given. */
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
    // For the next one of this batch with the same key.
    if (key !== undefined) keys.set(name, { hash, first_seq: receipt.firstSeq, last_seq: receipt.lastSeq });
    if (isFresh && request.log !== undefined)
      await writeLog(
        tx,
        request.log.map((line) => ({ sessionId: id, ...line })),
      );
    // A known key is answered whoever asks, but who lost the session ends nothing in it (I-32).
    const isOurs = request.epoch === undefined || isHolder(row, request.epoch);
    if (tellsMore(request) && isOurs) await tell(tx, request);
    return { kind: 'done', receipt };
  } catch (error) {
    // Refused before anything of it was written, or it is alone and takes the transaction with it.
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
