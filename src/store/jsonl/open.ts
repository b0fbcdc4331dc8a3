import { type FileStoreOptions, openFileStore } from '../control/open-file-store.ts';
import type { Store } from '../store.ts';

/** The default: SQLite commits, JSONL tells. Transcripts are complete within milliseconds, synced within a second. */
export async function openJsonlStore(options: FileStoreOptions): Promise<Store> {
  return openFileStore(options, { database: 'control.db', hasTranscripts: true });
}
