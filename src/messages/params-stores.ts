import type { None } from './params.ts';

/** What is wrong with the file of a transcript. */
export type LostTranscript = 'gone' | 'empty' | 'noHeader' | 'otherSession';

/** What SQLite or the file system refused. */
export type StoreProblem = 'busy' | 'readOnly' | 'full' | 'corrupt' | 'openFiles' | 'other';

/** What PostgreSQL, or the connection to it, refused. */
export type PostgresProblem =
  | 'notAllowedIn'
  | 'badPassword'
  | 'noPassword'
  | 'serverUnproven'
  | 'noLogin'
  | 'noDatabase'
  | 'rowsChanged'
  | 'rowsLocked'
  | 'rowLocked'
  | 'noRights'
  | 'diskFull'
  | 'noMemory'
  | 'noConnection'
  | 'slowStatement'
  | 'starting'
  | 'poolInUse'
  | 'unreachable'
  | 'connectionLost'
  | 'client'
  | 'pemFile'
  | 'noTls'
  | 'certificateName'
  | 'certificateAuthority'
  | 'certificateDate'
  | 'tls'
  | 'pooler'
  | 'readOnly'
  | 'damaged'
  | 'other';

/** Messages of stores: sessions that cannot be read or written as asked, and the store itself. */
export interface StoreMessages {
  'session.unknown': { readonly id: string };
  'session.trashed': { readonly id: string };
  'session.notTrashed': { readonly id: string };
  'session.purged': { readonly id: string };
  'session.idPurged': { readonly id: string };
  'session.notErased': { readonly id: string; readonly cause: string };
  'session.keyTaken': { readonly id: string; readonly key: string };
  'session.keyMismatch': { readonly id: string; readonly key: string };
  'session.resetExists': { readonly id: string };
  'session.fileTaken': { readonly id: string; readonly file: string };
  'session.changed': None;
  'session.leafMoved': { readonly id: string };
  'session.fenced': { readonly id: string };
  'session.leaseHeld': { readonly id: string; readonly pid: number };
  'session.runnerHolds': { readonly id: string };
  /** A null process: the lock file does not name it. */
  'session.foreignLock': { readonly id: string; readonly file: string; readonly pid: number | null };
  'session.busy': { readonly id: string };
  'session.queueFull': { readonly id: string; readonly waiting: number };
  'session.groupFull': { readonly group: string; readonly max: number };
  'session.appendKeyReused': { readonly key: string };
  'session.messageKeyReused': { readonly key: string };
  'session.notRead': { readonly id: string };
  'session.damaged': { readonly id: string; readonly offset: number };
  'session.damagedHeader': { readonly id: string };
  'session.lostTranscript': { readonly id: string; readonly file: string; readonly problem: LostTranscript };
  'session.foreignTranscript': { readonly id: string; readonly other: string };
  'session.notAFile': {
    readonly id: string;
    readonly file: string;
    readonly kind: 'link' | 'folder' | 'device';
  };
  'session.unreadable': { readonly id: string; readonly reason: string };
  'session.lostParts': { readonly id: string; readonly parts: number };
  'session.exportDamaged': { readonly id: string; readonly line: number };
  'session.exportGone': { readonly id: string };
  'session.locked': { readonly id: string };
  'blob.missing': { readonly id: string; readonly blob: string };
  'blob.damaged': { readonly id: string; readonly blob: string };
  'blob.notWritten': { readonly problem: string };
  'inbox.missing': { readonly inboxId: string };
  'list.badCursor': None;
  'list.badSort': { readonly sort: string; readonly allowed: readonly string[] };
  'list.badOrder': { readonly order: string };
  'search.badCursor': None;
  'search.tooLong': { readonly characters: number; readonly max: number };
  'store.closed': None;
  'store.onlyRead': None;
  'store.folderReadOnly': { readonly folder: string };
  'store.copyUnfinished': { readonly run: string };
  'store.locked': { readonly seconds: number };
  'store.moved': None;
  'store.stillOpen': { readonly file: string };
  'store.newer': { readonly schema: number; readonly known: number; readonly canRead: boolean };
  /** A null folder: it is not known which disk. */
  'store.noSpace': {
    readonly freeBytes: number;
    readonly minFreeBytes: number;
    readonly folder: string | null;
  };
  /** `message`: what SQLite or the system reported. A null folder: that of the store. */
  'store.failed': {
    readonly problem: StoreProblem;
    readonly message: string;
    readonly folder: string | null;
  };
  'store.threadDied': None;
  'store.threadsDied': { readonly times: number; readonly seconds: number };
  'store.memoryLost': None;
  /** `message`: what the server or its driver reported; null: nothing. */
  'postgres.failed': { readonly problem: PostgresProblem; readonly message: string | null };
  'postgres.newer': { readonly schema: number; readonly known: number };
  'postgres.older': { readonly schema: number; readonly known: number };
  'postgres.noStore': None;
  'postgres.tooOld': { readonly version: number };
  'postgres.encoding': { readonly encoding: string };
  'postgres.replica': None;
}
