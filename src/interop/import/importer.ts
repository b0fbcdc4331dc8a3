import type { JsonObject } from '../../transcript/json.ts';
import type { ImportSource } from './source.ts';
import type { FolderList } from './source-files.ts';

/** Reads the sessions of one tool. Each file in tools/ exports one. */
export interface Importer {
  /** For `--only`, reports and the identity of sessions. Never renamed: a later import finds its sessions by it. */
  readonly tool: string;
  /** For people. */
  readonly name: string;
  /** Folders and files in which the tool keeps sessions on this machine, whether or not they exist. */
  places(machine: Machine): readonly string[];
  /** Whether this file or folder was written by the tool, by the structure of its content. */
  detect(candidate: Candidate): boolean | Promise<boolean>;
  /** Finds the sessions in a file or folder that `detect` recognized. */
  list(path: string): Promise<OpenSource>;
  /** What the files of the tool contain and an import leaves out, and why. docs/interop.md has the same table. */
  readonly notImported: Readonly<Record<string, string>>;
}

export type OpenSource = ImportSource & Partial<AsyncDisposable>;

/** What a tool needs to know to find its files. */
export interface Machine {
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** A file or folder, with enough of its content to recognize it. */
export interface Candidate {
  readonly path: string;
  /** Undefined for a file. */
  readonly folder: FolderList | undefined;
  /** The records among the first lines of a file. */
  readonly lines: readonly JsonObject[];
  /** The beginning of a file as text; of a ZIP file, that of the list of conversations in it. */
  readonly start: string;
  /** The tables of a SQLite database; undefined for every other file. */
  readonly tables: ReadonlySet<string> | undefined;
}
