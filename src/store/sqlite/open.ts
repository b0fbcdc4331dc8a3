import { type FileStoreOptions, openFileStore } from '../control/open-file-store.ts';
import type { Store } from '../store.ts';

/** One file holds everything: the journal of the JSONL store, never emptied. */
export async function openSqliteStore(options: FileStoreOptions): Promise<Store> {
  return openFileStore(options, { database: 'store.db', hasTranscripts: false });
}
