import { blobHash } from '../../../transcript/blobs.ts';
import type { VerifyFinding } from '../../port/verify-report.ts';
import { sha256 } from '../../shared/sha256.ts';
import type { Database } from '../database.ts';
import type { SessionRow } from '../session-row.ts';
import type { Steps } from '../threads/steps.ts';

/** Stores the large parts of a session's lines by the SHA-256 of their bytes. */
export interface BlobStore {
  /**
   * Stores all blobs or none. They are durable on return or with the commit, so no stored line references a missing
   * blob (I-18).
   */
  keep(row: SessionRow, blobs: ReadonlyMap<string, Uint8Array>): void;
  /** Ends a commit. If its lines are not stored, the blobs that were written for them are removed. */
  settle(isStored: boolean): void;
  /** The bytes stored under this hash, unchecked; `undefined` if they cannot be read. */
  get(row: SessionRow, hash: string): Uint8Array | undefined;
  /** All names in the session's blob folder, including names that are not hashes. */
  names(row: SessionRow): string[];
}

/** Blobs as rows, written in the transaction of the lines. Used by the SQLite and memory stores. */
export function blobRows(db: Database): BlobStore {
  return {
    keep({ id }, blobs) {
      for (const [hash, bytes] of blobs)
        db.run('INSERT OR IGNORE INTO blobs VALUES (?, ?, ?)', id, hash, bytes);
    },
    settle() {},
    get: ({ id }, hash) =>
      db.row<{ bytes: Uint8Array }>('SELECT bytes FROM blobs WHERE session_id = ? AND hash = ?', id, hash)
        ?.bytes,
    names: ({ id }) =>
      db
        .rows<{ hash: string }>('SELECT hash FROM blobs WHERE session_id = ? ORDER BY hash', id)
        .map(({ hash }) => hash),
  };
}

/**
 * Compares the blobs that lines reference with the stored ones. A stray blob is left by a killed writer and is
 * harmless.
 */
export function* verifyBlobs(
  blobs: BlobStore,
  row: SessionRow,
  names: Iterable<string>,
): Steps<VerifyFinding[]> {
  const findings: VerifyFinding[] = [];
  const found = (kind: string, detail: string): void => {
    findings.push({ session: row.id, offset: 0, kind, detail });
  };
  const strays = new Set(blobs.names(row));
  for (const name of names) {
    yield;
    const hash = blobHash(name);
    const isThere = strays.delete(hash);
    const bytes = blobs.get(row, hash);
    if (bytes === undefined && !isThere) found('missing-blob', `no blob ${name}`);
    else if (bytes === undefined) found('corrupt-blob', `blob ${name} is no plain file`);
    else if (sha256(bytes) !== hash) found('corrupt-blob', `blob ${name} has other bytes than were kept`);
  }
  for (const name of strays) found('stray-blob', `no line names ${name}`);
  return findings;
}
