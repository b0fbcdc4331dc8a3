import type { Store } from '../../store/port/store.ts';
import type { TransferRecord } from '../../store/port/transfer.ts';
import { assertMayBegin } from './migrate-store.ts';
import { type CheckedBackup, checkBackup, readBackup } from './read-backup.ts';
import { differences, digestRecords, recordsOf } from './store-digest.ts';

export interface RestoreOptions {
  /** The result of a check just made, so that the file is not checked twice. */
  readonly checked?: CheckedBackup;
  readonly onProgress?: (work: 'checking' | 'restoring' | 'comparing', done: number, total: number) => void;
}

export interface RestoreReport {
  readonly status: 'done' | 'before' | 'differs';
  readonly backup: CheckedBackup;
  readonly differences: readonly string[];
  /** Queued messages that do not run until `transfer.release`. */
  readonly held: number;
}

const PAGE_BYTES = 1024 * 1024;
const PAGE_RECORDS = 1000;

/**
 * Restores a backup into an empty store. The file is verified first, so that nothing is restored from a damaged one;
 * the result is compared with the file before the store can be used. The same command resumes an interrupted restore.
 */
export async function restoreBackup(
  path: string,
  target: Store,
  { checked, onProgress = () => undefined }: RestoreOptions = {},
): Promise<RestoreReport> {
  const backup = checked ?? (await checkBackup(path, (done, total) => onProgress('checking', done, total)));
  const { sha256, bytes: size } = backup;
  const run = `restore of backup sha256:${sha256}`;
  const state = await target.transfer.state();
  if (state.run?.finished === true && state.run.run === run)
    return { status: 'before', backup, differences: [], held: (await target.transfer.held()).length };
  assertMayBegin(state, run);
  const cursor = state.run?.cursor;
  if (cursor !== null) {
    const from = cursor === undefined ? undefined : Number(cursor);
    for await (const { records, end } of pagesOf(path, from)) {
      await target.transfer.write(records, { run, cursor: String(end) });
      onProgress('restoring', end, size);
    }
    await target.transfer.write([], { run, cursor: null });
  }
  const found = differences(
    backup.digest,
    await digestRecords(recordsOf(target), (done) => onProgress('comparing', done, backup.digest.bytes)),
    { whileWritten: true },
  );
  if (found.length > 0) return { status: 'differs', backup, differences: found, held: 0 };
  await target.transfer.finish(run, { hold: true });
  return { status: 'done', backup, differences: [], held: (await target.transfer.held()).length };
}

interface RecordPage {
  readonly records: readonly TransferRecord[];
  readonly end: number;
}

async function* pagesOf(path: string, from: number | undefined): AsyncGenerator<RecordPage> {
  let records: TransferRecord[] = [];
  let bytes = 0;
  let last = 0;
  for await (const { record, end } of readBackup(path, from)) {
    bytes += end - last;
    last = end;
    records.push(record);
    if (bytes < PAGE_BYTES && records.length < PAGE_RECORDS) continue;
    yield { records, end };
    records = [];
    bytes = 0;
  }
  if (records.length > 0) yield { records, end: last };
}
