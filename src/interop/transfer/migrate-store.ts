import { failure } from '../../messages/failure.ts';
import type { Store } from '../../store/port/store.ts';
import type { TransferState } from '../../store/port/transfer.ts';
import { differences, digestRecords, recordsOf, type StoreDigest } from './store-digest.ts';

export interface MigrateOptions {
  /** Names source and target, so that an interrupted run can be resumed. */
  readonly run: string;
  /** Bytes of transcripts and blobs, as far as they are known in advance. */
  readonly onProgress?: (work: 'copying' | 'checking', done: number, total: number) => void;
}

export interface MigrateReport {
  /** `before`: an earlier run has completed it, and nothing has changed since. */
  readonly status: 'done' | 'before' | 'differs';
  readonly digest: StoreDigest;
  readonly differences: readonly string[];
}

/** Maximum number of extra passes for changes that other processes make during the copy. */
const MAX_PASSES = 3;

/**
 * Copies a whole store into an empty one, and compares both record by record before the copy can be used. The source is
 * only read. An interrupted run continues after the last page in the target. Changes to the source during the copy are
 * added by another pass; if the source keeps changing, the copy is refused.
 */
export async function migrateStore(
  source: Store,
  target: Store,
  { run, onProgress = () => undefined }: MigrateOptions,
): Promise<MigrateReport> {
  await assertAtRest(source);
  const state = await target.transfer.state();
  const { bytes: total } = await source.stats();
  const check = (store: Store): Promise<StoreDigest> =>
    digestRecords(recordsOf(store), (bytes) => onProgress('checking', bytes, total));
  if (state.run?.finished === true && state.run.run === run) return compareFinished(source, target, check);
  assertMayBegin(state, run);
  let before: StoreDigest | undefined;
  let cursor = state.run === undefined ? undefined : state.run.cursor;
  for (let pass = 1; pass <= MAX_PASSES; pass++) {
    await copyFrom(source, target, { run, cursor, onBytes: (bytes) => onProgress('copying', bytes, total) });
    cursor = undefined;
    const digest = await check(source);
    const found = differences(digest, await check(target));
    if (found.length === 0) {
      // A process that started meanwhile would write into the old store.
      await assertAtRest(source);
      await target.transfer.finish(run);
      return { status: 'done', digest, differences: [] };
    }
    // If the source has not changed since the last pass, another pass cannot help.
    if (before !== undefined && differences(before, digest).length === 0)
      return { status: 'differs', digest, differences: found };
    before = digest;
  }
  throw failure('STORE_BUSY', 'migrate.sourceBusy');
}

/**
 * Refuses a source with a running session: its next messages would go to the old store and be missing in the new one.
 */
export async function assertAtRest(source: Store): Promise<void> {
  const [held] = (await source.leases()).filter(({ alive }) => alive);
  if (held !== undefined) {
    const { sessionId: id, holder } = held;
    const pid = typeof holder.pid === 'number' ? holder.pid : null;
    throw failure('LEASE_HELD', 'migrate.sourceInUse', { id, pid }, { details: { holder } });
  }
  await assertWhole(source);
}

/** Refuses an incomplete copy as the source of another copy. */
export async function assertWhole(source: Store): Promise<void> {
  const { run } = await source.transfer.state();
  if (run === undefined || run.finished) return;
  throw failure('STORE_READ_ONLY', 'migrate.sourceUnfinished', { run: run.run });
}

export function assertMayBegin({ empty, run: known }: TransferState, run: string): void {
  if (known === undefined && empty) return;
  if (known?.run === run && !known.finished) return;
  const params = { run: known?.run ?? null, finished: known?.finished === true };
  throw failure('INVALID_INPUT', 'migrate.targetUsed', params);
}

interface CopyOptions {
  readonly run: string;
  /** Null if the previous pass was complete. */
  readonly cursor: string | null | undefined;
  readonly onBytes: (bytes: number) => void;
}

async function copyFrom(source: Store, target: Store, { run, cursor, onBytes }: CopyOptions): Promise<void> {
  let bytes = 0;
  for (let at = cursor; at !== null; ) {
    const page = await source.transfer.read(at);
    await target.transfer.write(page.records, { run, cursor: page.cursor });
    for (const record of page.records) if ('bytes' in record) bytes += record.bytes.length;
    onBytes(bytes);
    at = page.cursor;
  }
}

/** Message states may have changed since; message text must not have. */
async function compareFinished(
  source: Store,
  target: Store,
  check: (store: Store) => Promise<StoreDigest>,
): Promise<MigrateReport> {
  const digest = await check(source);
  const there = await check(target);
  const isSame = [...digest.sessions].every(([id, { sha256 }]) => there.sessions.get(id)?.sha256 === sha256);
  if (isSame && there.sessions.size === digest.sessions.size)
    return { status: 'before', digest, differences: [] };
  throw failure('INVALID_INPUT', 'migrate.diverged');
}
