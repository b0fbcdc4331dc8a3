import { RepriseError } from '../../errors.ts';
import type { SessionCopy, TransferState } from '../transfer.ts';
import type { Database } from './database.ts';
import { meta, setMeta } from './identity.ts';

/** What a copy into this store has to remember, in the transaction of the records it came with. */
export interface CopyState {
  readonly run: string;
  readonly cursor: string | null;
  readonly finished: boolean;
  /** The highest epoch that was told of. */
  readonly epoch: number;
  /** The session whose blobs and lines are coming. */
  readonly session?: SessionCopy;
}

const NAME = 'transfer';
const TABLES = ['sessions', 'inbox', 'inbound_keys', 'active', 'convlog_chats', 'purged'];

export function copyState(db: Database): CopyState | undefined {
  const text = meta(db, NAME);
  return text === undefined ? undefined : (JSON.parse(text) as CopyState);
}

export function saveCopyState(db: Database, state: CopyState): void {
  setMeta(db, NAME, JSON.stringify(state));
}

export function transferState(db: Database): TransferState {
  const known = copyState(db);
  const empty = TABLES.every((table) => db.row(`SELECT 1 FROM ${table} LIMIT 1`) === undefined);
  if (known === undefined) return { empty };
  const { run, cursor, finished } = known;
  return { empty, run: { run, cursor, finished } };
}

/** Why nobody may write here now: half a copy would be taken for all there is. */
export function unfinishedCopy(db: Database): RepriseError | undefined {
  const state = copyState(db);
  if (state === undefined || state.finished) return undefined;
  return new RepriseError('STORE_READ_ONLY', `a copy into this store is not finished: ${state.run}`, {
    details: { run: state.run, next: 'Run the same command again: it goes on where it stopped.' },
  });
}
