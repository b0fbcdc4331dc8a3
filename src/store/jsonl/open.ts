import type { Store } from '../port/store.ts';
import { type FileStoreOptions, openFileStore } from '../sqlite/open-file-store.ts';

/** The default: SQLite commits, JSONL tells. Transcripts are complete within milliseconds, synced within a second. */
export async function openJsonlStore(options: FileStoreOptions): Promise<Store> {
  return openFileStore(options, { database: 'control.db', hasTranscripts: true });
}
