import type { RepriseError } from '../../../errors.ts';
import { type CopyState, notFinished } from '../../copy/copy-state.ts';
import type { TransferState } from '../../port/transfer.ts';
import type { Database } from '../database.ts';
import { meta, setMeta } from '../identity.ts';

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

/**
 * The error for every write while a copy is unfinished: an incomplete copy must not be mistaken for a complete store.
 */
export function unfinishedCopy(db: Database): RepriseError | undefined {
  const state = copyState(db);
  return state === undefined || state.finished ? undefined : notFinished(state.run);
}
