import type { RouteInput } from '../../keys/resolve.ts';
import type { ConvlogLine } from '../../store/port/convlog.ts';
import type { Entry, SessionHeader } from '../../transcript/entry.ts';
import type { IssueLog } from '../../transcript/issues.ts';
import { isObject, type JsonObject } from '../../transcript/json.ts';
import type { LossReport } from './loss-report.ts';

/** The source of an import. Reading it does not change it. */
export interface ImportSource {
  /** A description for the user: a file of a dialect, or the files of a tool. */
  readonly kind: string;
  readonly sessions: readonly FoundSession[];
  readonly convlogs: readonly FoundConvlog[];
  /** What was skipped: links, special files, an unreadable index. */
  readonly problems: readonly string[];
}

/** One session as described by file names and an index; its transcript is read later. */
export interface FoundSession {
  /** The file, or the position in a file. */
  readonly place: string;
  /** The tool that wrote it. */
  readonly tool?: string | undefined;
  /** Of its files as they are now; the same stamp means that nothing changed. Undefined if that is unknown. */
  readonly stamp?: string | undefined;
  /** A session without messages is imported too: its key and settings count. */
  readonly mayBeEmpty?: boolean;
  /** The id here of the session that it belongs to: of a subagent, a fork. */
  readonly parentId?: string | undefined;
  /** Undefined if nothing in the source names an agent. */
  readonly agentId?: string | undefined;
  readonly id?: string | undefined;
  /** The id if the file's header has none. */
  readonly fallbackId?: string;
  readonly key?: string | undefined;
  /** The route of its messages, if the key is in another form. The configured routing rules then decide its key. */
  readonly from?: RouteInput | undefined;
  /** The route derived from the session id, for a file without a key in its header. */
  readonly fallbackFrom?: RouteInput | undefined;
  readonly title?: string | undefined;
  readonly settings?: JsonObject | undefined;
  /** Data in the index that cannot be imported. */
  readonly notes?: readonly string[];
  /** Whether it is the current session of its key in the source; undefined if unknown. */
  readonly active?: boolean | undefined;
  /** When it was last used, according to the index. */
  readonly indexedAt?: string | undefined;
  read(): Promise<ReadSession>;
}

export interface ReadSession {
  readonly header: (SessionHeader & { readonly title?: string }) | undefined;
  readonly entries: readonly Entry[];
  readonly problems: readonly string[];
  /** What became of the records. Unset: every record is in `entries` or counted in `problems`. */
  readonly loss?: LossReport;
  /** Choices of the source: model, system prompt, tool policy. They are applied only if the user accepts them. */
  readonly settings?: JsonObject;
}

export interface FoundConvlog {
  readonly place: string;
  read(): Promise<{ readonly lines: readonly ConvlogLine[]; readonly problems: readonly string[] }>;
}

/** One line per kind of problem in a file, with its first position. */
export function problemsOf({ counts, examples }: IssueLog): string[] {
  return [...counts].map(([kind, count]) => {
    const first = examples.find((issue) => issue.kind === kind);
    const where = first?.line === undefined ? '' : `, first in line ${first.line}`;
    return `${count} x ${kind}${where}: ${first?.detail ?? ''}`;
  });
}

/** The session here that a record of another agent continues: an export for that agent names it. */
export function originOf(record: unknown): string | undefined {
  const { reprise } = isObject(record) ? record : {};
  return isObject(reprise) ? textIn(reprise['session']) : undefined;
}

/** The value if it is a non-empty string. */
export function textIn(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
