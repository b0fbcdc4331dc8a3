import type { Store } from '../port/store.ts';
import { type FileStoreOptions, openFileStore } from './open-file-store.ts';

/** Opens a store in a single file. It uses the JSONL store's journal, but never empties it. */
export async function openSqliteStore(options: FileStoreOptions): Promise<Store> {
  return openFileStore(options, { database: 'store.db', hasTranscripts: false });
}
