import { writeLog } from '../../jsonl/channel-log/convlog-rows.ts';
import type { ConvlogLine } from '../../port/convlog.ts';
import { finishTransfer, writeTransfer } from '../copy/transfer-write.ts';
import { appendAndTell } from './append-and-tell.ts';
import type { Batch } from './batch.ts';
import { receive, recountItem, settleItem, takeItem } from './inbox.ts';
import { releaseHeld } from './inbox-rows.ts';
import { acquireLease, beat, releaseLease } from './leases.ts';
import { putNotes } from './notes.ts';
import {
  activateSession,
  deleteSession,
  markDamaged,
  openSession,
  patchSession,
  purgeSession,
  restoreSession,
} from './sessions.ts';
import { markSource } from './sources.ts';
import { beginTurn, endTurn } from './turns.ts';

/** All operations that change the store. Each runs inside the transaction of a batch. */
export const WRITE_OPS: Readonly<Record<WriteOp, (batch: Batch, args: never) => unknown>> = {
  create: openSession,
  activate: activateSession,
  append: appendAndTell,
  patch: patchSession,
  delete: deleteSession,
  restore: restoreSession,
  purge: purgeSession,
  acquire: acquireLease,
  beat,
  release: releaseLease,
  begin: beginTurn,
  end: endTurn,
  receive,
  take: takeItem,
  recount: recountItem,
  settle: settleItem,
  damaged: markDamaged,
  transfer: writeTransfer,
  finish: finishTransfer,
  unhold: releaseHeld,
  notes: putNotes,
  mark: markSource,
  log: (batch, { log }: { readonly log: readonly ConvlogLine[] }) => writeLog(batch, log),
};

export type WriteOp =
  | 'create'
  | 'activate'
  | 'append'
  | 'patch'
  | 'delete'
  | 'restore'
  | 'purge'
  | 'acquire'
  | 'beat'
  | 'release'
  | 'begin'
  | 'end'
  | 'receive'
  | 'take'
  | 'recount'
  | 'settle'
  | 'damaged'
  | 'transfer'
  | 'finish'
  | 'unhold'
  | 'notes'
  | 'mark'
  | 'log';

/** Operations that leave the session's transcript unchanged. */
export const QUIET_OPS: ReadonlySet<WriteOp> = new Set([
  'create',
  'purge',
  'acquire',
  'beat',
  'release',
  'take',
  'recount',
  'mark',
]);

/** Operations that are allowed while a copy into this store is unfinished. */
export const COPY_OPS: ReadonlySet<WriteOp> = new Set(['transfer', 'finish', 'damaged']);
