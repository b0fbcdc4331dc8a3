import type { None } from '../params.ts';

/** What is wrong with the file of a transcript. */
export type LostTranscript = 'gone' | 'empty' | 'noHeader' | 'otherSession';

/** What SQLite or the file system refused. */
export type StoreProblem = 'busy' | 'readOnly' | 'full' | 'corrupt' | 'openFiles' | 'other';

/** What is wrong with control.db, where SQLite itself sees nothing wrong. */
export type DatabaseDamage = 'gone' | 'pages' | 'noVersion' | 'otherTables';

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
  /** `cause`: the code of the error. */
  'session.notErased': { readonly id: string; readonly cause: string };
  'session.keyTaken': { readonly id: string; readonly key: string };
  'session.keyMismatch': { readonly id: string; readonly key: string };
  'session.resetExists': { readonly id: string };
  'session.fileTaken': { readonly id: string; readonly file: string };
  'session.beingRemoved': { readonly id: string };
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
  'append.empty': None;
  'entry.badType': { readonly type: string };
  'entry.hasId': None;
  'entry.noBlob': { readonly id: string; readonly blob: string };
  'entry.noParent': { readonly id: string; readonly parent: string };
  'input.tooLong': { readonly field: string; readonly length: number; readonly max: number };
  'input.tooMany': { readonly field: string; readonly length: number; readonly max: number };
  'event.tooLarge': { readonly maxBytes: number };
  'idempotency.notUnicode': None;
  'idempotency.missing': None;
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
  'blob.notWritten': { readonly reason: string };
  'blob.noFolder': { readonly folder: string };
  'inbox.missing': { readonly inboxId: string };
  'list.badCursor': None;
  'list.badSort': { readonly sort: string; readonly allowed: readonly string[] };
  'list.badOrder': { readonly order: string };
  'list.endless': { readonly cursor: 'missing' | 'repeated' };
  'search.badCursor': None;
  'search.tooLong': { readonly characters: number; readonly max: number };
  'store.closed': None;
  'store.onlyRead': None;
  'store.folderReadOnly': { readonly folder: string };
  'store.copyUnfinished': { readonly run: string };
  'store.locked': { readonly seconds: number };
  'store.logInUse': { readonly seconds: number };
  'store.missing': { readonly file: string };
  /** `canWrite`: whether this process is allowed to write the file. */
  'store.unsettled': {
    readonly file: string;
    readonly problem: 'older' | 'unfinished';
    readonly canWrite: boolean;
  };
  /** `found`: what SQLite reported; null: nothing. */
  'store.damaged': { readonly problem: DatabaseDamage; readonly found: string | null };
  'store.indexReplaced': { readonly times: number };
  'store.networkHome': { readonly home: string };
  'store.badHome': { readonly home: string; readonly reason: string };
  'store.noAccess': { readonly home: string; readonly reason: string };
  'store.homeNotFolder': { readonly home: string };
  'store.noThreadFile': { readonly file: string };
  'store.notAThread': None;
  'store.unknownOperation': { readonly operation: string };
  'store.notData': { readonly operation: string };
  'store.moved': None;
  /** `copy`: the file with the rows of this process; null: it could not be written. */
  'store.diverged': { readonly copy: string | null };
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
}

/** Messages of copies between stores, and of exports. */
export interface CopyMessages {
  'copy.notEmpty': None;
  /** A null run: no copy was started in this store. */
  'copy.otherRun': { readonly run: string | null };
  'copy.badCursor': None;
  'copy.badRecord':
    | { readonly problem: 'noRecord' | 'idTaken'; readonly id: string }
    | { readonly problem: 'noLineEnd' | 'noEntry'; readonly id: string; readonly line: number }
    | { readonly problem: 'unknownKind'; readonly kind: string };
  'copy.lineChanged': { readonly id: string; readonly line: number };
  'copy.blobChanged': { readonly id: string; readonly blob: string };
  'copy.notUtf8': { readonly id: string; readonly line: number };
  'copy.notRead': { readonly id: string };
  'copy.openTransaction': { readonly seconds: number };
  'export.stopped': { readonly id: string };
}

/** Messages of stores in PostgreSQL. */
export interface PostgresMessages {
  /** `message`: what the server or its driver reported; null: nothing. */
  'postgres.failed': { readonly problem: PostgresProblem; readonly message: string | null };
  'postgres.newer': { readonly schema: number; readonly known: number };
  'postgres.older': { readonly schema: number; readonly known: number };
  'postgres.badUrl': None;
  'postgres.noFacts': None;
  'postgres.rolledBack': None;
  'postgres.keyVanished': { readonly key: string };
  'postgres.noStore': None;
  'postgres.tooOld': { readonly version: number };
  'postgres.encoding': { readonly encoding: string };
  'postgres.replica': None;
}
