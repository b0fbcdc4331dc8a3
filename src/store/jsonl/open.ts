import type { Store } from '../port/store.ts';
import { type FileStoreOptions, openFileStore } from '../sqlite/open-file-store.ts';

/**
 * Opens the default store: SQLite commits, and JSONL files follow. Transcripts are complete within milliseconds and
 * synced within a second.
 */
export async function openJsonlStore(options: FileStoreOptions): Promise<Store> {
  return openFileStore(options, { database: 'control.db', hasTranscripts: true });
}
