import type { Store } from '../port/store.ts';
import { type FileStoreOptions, openFileStore } from './open-file-store.ts';

/** One file holds everything: the journal of the JSONL store, never emptied. */
export async function openSqliteStore(options: FileStoreOptions): Promise<Store> {
  return openFileStore(options, { database: 'store.db', hasTranscripts: false });
}
