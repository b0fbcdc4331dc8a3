import type { None } from '../params.ts';

/** Why a file cannot be read or written. `other`: the system says it, see `errno`. */
export type FileProblem = 'missing' | 'notFile' | 'link' | 'diskFull' | 'other';

/** What is wrong with a backup. */
export type BackupProblem =
  | 'notJson'
  | 'noTime'
  | 'unknownRecord'
  | 'wrongField'
  | 'noLines'
  | 'noBlobBytes'
  | 'otherBlobBytes'
  | 'brokenLine'
  | 'recordCount'
  | 'otherBytes'
  | 'endsEarly'
  | 'endsInLine'
  | 'endsInSession'
  | 'afterEnd';

/** `offset`: of the byte near which it was found. */
export interface BackupDamage {
  readonly offset: number;
  readonly problem: BackupProblem;
  /** The kind of the record, in quotes. */
  readonly record?: string;
  readonly field?: string;
  readonly session?: string;
  readonly line?: number;
  readonly found?: number;
  readonly expected?: number;
}

/** Messages about files of other tools, exports, backups and migrations. */
export interface InteropMessages {
  'export.storeFile': { readonly path: string; readonly home: string };
  'export.folderNotEmpty': { readonly path: string };
  'export.fileExists': { readonly path: string };
  'export.notWritten': { readonly path: string; readonly problem: FileProblem; readonly errno: string };
  'export.longFolder': { readonly folder: string; readonly max: number };
  /** `missing`: messages that the written file does not contain. */
  'export.notReadBack': { readonly file: string; readonly missing: number };
  'export.unknownLayout': { readonly layout: string; readonly known: readonly string[] };
  'import.notRead': { readonly path: string; readonly problem: FileProblem; readonly errno: string | null };
  'import.changing': { readonly path: string };
  'import.unknown': { readonly path: string };
  /** `lines`: how many the file has; none is a record. */
  'import.notTranscript': { readonly path: string; readonly lines: number };
  'import.noMessages': { readonly path: string };
  'import.noContent': { readonly path: string; readonly messages: number };
  'import.ownHome': { readonly path: string };
  'import.ownBackup': { readonly path: string };
  'import.damagedZip': { readonly path: string };
  /** `name`: of the file inside; `max`: in bytes. */
  'import.zipBomb': { readonly path: string; readonly name: string; readonly max: number };
  /** `reason`: what SQLite reported. */
  'import.damagedDatabase': { readonly path: string; readonly reason: string };
  'import.cutDatabase': { readonly path: string; readonly bytes: number; readonly expected: number };
  'import.missingColumns': { readonly path: string; readonly columns: readonly string[] };
  /** The first tables, in quotes, and how many there are. */
  'import.otherDatabase': {
    readonly path: string;
    readonly shown: readonly string[];
    readonly tables: number;
  };
  'backup.notRead': { readonly path: string; readonly problem: FileProblem; readonly errno: string | null };
  'backup.notBackup': { readonly path: string };
  'backup.newer': { readonly path: string; readonly version: number; readonly known: number };
  'backup.tooLong': { readonly limit: 'line' | 'record'; readonly offset: number; readonly max: number };
  'backup.damaged': BackupDamage;
  'migrate.sourceBusy': None;
  /** A null process: it is not known. */
  'migrate.sourceInUse': { readonly id: string; readonly pid: number | null };
  'migrate.sourceUnfinished': { readonly run: string };
  /** A null run: sessions that no copy wrote. */
  'migrate.targetUsed': { readonly run: string | null; readonly finished: boolean };
  'migrate.diverged': None;
}
