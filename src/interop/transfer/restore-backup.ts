import type { Store } from '../../store/port/store.ts';
import type { TransferRecord } from '../../store/port/transfer.ts';
import { assertMayBegin } from './migrate-store.ts';
import { type CheckedBackup, checkBackup, readBackup } from './read-backup.ts';
import { differences, digestRecords, recordsOf } from './store-digest.ts';

export interface RestoreOptions {
  /** Of a file that was just checked: it is not read to its end once more. */
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
 * Puts a backup into an empty store. The file is read to its end first, so that nothing is restored of one that is
 * damaged; what was restored is compared with it before the store may be used. Cut short, the same command goes on.
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
