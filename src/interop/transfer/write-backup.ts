import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import type { Store } from '../../store/port/store.ts';
import type { TransferRecord } from '../../store/port/transfer.ts';
import { replaceFile } from '../export/file-writer.ts';
import {
  BACKUP_VERSION,
  type BackupEnd,
  type BackupHeader,
  encodeJson,
  encodeRecord,
} from './backup-record.ts';
import { assertWhole } from './migrate-store.ts';
import { redactRecords } from './redact-records.ts';
import { digestRecords, recordsOf, type StoreDigest } from './store-digest.ts';

export interface BackupOptions {
  /** Replace the file that is there. */
  readonly force?: boolean;
  /** Mask secrets in all texts of the store. */
  readonly redact?: boolean;
  readonly onProgress?: (done: number, total: number) => void;
}

export interface BackupReport {
  readonly createdAt: string;
  /** Of the file. */
  readonly bytes: number;
  /** Of everything before its last line, which says it too. */
  readonly sha256: string;
  readonly digest: StoreDigest;
}

/**
 * Everything a store has in one file, while others write to it: of each session a prefix of its history that ends with
 * an append and holds at least what was acknowledged before (I-68). The file has its name when it is whole and synced.
 */
export async function writeBackup(
  store: Store,
  path: string,
  { force = false, redact = false, onProgress = () => undefined }: BackupOptions = {},
): Promise<BackupReport> {
  await assertWhole(store);
  const { bytes: total } = await store.stats();
  let report: BackupReport | undefined;
  await replaceFile(path, force, async (temporary) => {
    const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
    const file = await open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
    try {
      const out = new HashedFile(file);
      const createdAt = new Date().toISOString();
      const header: BackupHeader = {
        kind: 'backup',
        version: BACKUP_VERSION,
        createdAt,
        ...(redact && { redacted: true }),
      };
      await out.write([encodeJson(header)]);
      let count = 0;
      const written = async function* (): AsyncGenerator<TransferRecord> {
        const records = recordsOf(store);
        for await (const record of redact ? redactRecords(records) : records) {
          await out.write(encodeRecord(record));
          count++;
          yield record;
        }
      };
      const digest = await digestRecords(written(), (bytes) => onProgress(bytes, total));
      const sha256 = out.digest();
      const end: BackupEnd = { kind: 'end', records: count, sha256 };
      await out.write([encodeJson(end)]);
      await out.flush();
      await file.sync();
      report = { createdAt, bytes: out.bytes, sha256, digest };
    } finally {
      await file.close();
    }
  });
  return report as unknown as BackupReport;
}

const FLUSH_BYTES = 1024 * 1024;

/** Gathers small writes, and hashes everything on the way. */
class HashedFile {
  readonly #file: FileHandle;
  readonly #hash = createHash('sha256');
  #parts: Uint8Array[] = [];
  #waiting = 0;
  bytes = 0;

  constructor(file: FileHandle) {
    this.#file = file;
  }

  async write(parts: readonly Uint8Array[]): Promise<void> {
    for (const part of parts) {
      this.#parts.push(part);
      this.#waiting += part.length;
    }
    if (this.#waiting >= FLUSH_BYTES) await this.flush();
  }

  async flush(): Promise<void> {
    const bytes = Buffer.concat(this.#parts);
    this.#parts = [];
    this.#waiting = 0;
    this.#hash.update(bytes);
    this.bytes += bytes.length;
    // Short counts are no errors, and a full disk makes them.
    for (let at = 0; at < bytes.length; ) at += (await this.#file.write(bytes, at)).bytesWritten;
  }

  /** Of everything so far. */
  digest(): string {
    const hash = this.#hash.copy();
    for (const part of this.#parts) hash.update(part);
    return hash.digest('hex');
  }
}
