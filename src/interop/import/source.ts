import type { RouteInput } from '../../keys/resolve.ts';
import type { ConvlogLine } from '../../store/port/convlog.ts';
import type { Entry, SessionHeader } from '../../transcript/entry.ts';
import type { IssueLog } from '../../transcript/issues.ts';
import type { JsonObject } from '../../transcript/json.ts';

/** What an import was pointed at. Reading it changes nothing there. */
export interface ImportSource {
  /** For people: a file of some dialect, or the files of a system. */
  readonly kind: string;
  readonly sessions: readonly FoundSession[];
  readonly convlogs: readonly FoundConvlog[];
  /** What was passed by: links, files that are none, an index that cannot be read. */
  readonly problems: readonly string[];
}

/** One session as far as names and an index tell; the transcript is read when it is its turn. */
export interface FoundSession {
  /** The file, or where in it. */
  readonly place: string;
  /** Undefined: nothing in the source names an agent. */
  readonly agentId?: string | undefined;
  readonly id?: string | undefined;
  /** For a file whose header has no id either. */
  readonly fallbackId?: string;
  readonly key?: string | undefined;
  /** Where its messages come from, if the key says it in another form: the routing rules decide which key the next has. */
  readonly from?: RouteInput | undefined;
  /** The same by the id of the session, for a file whose header has no key. */
  readonly fallbackFrom?: RouteInput | undefined;
  readonly title?: string | undefined;
  readonly settings?: JsonObject | undefined;
  /** What the index says about it and cannot be imported. */
  readonly notes?: readonly string[];
  /** Whether the key stands for it there. Undefined: the source does not say. */
  readonly active?: boolean | undefined;
  /** When it was last used, by its index. */
  readonly indexedAt?: string | undefined;
  read(): Promise<ReadSession>;
}

export interface ReadSession {
  readonly header: SessionHeader | undefined;
  readonly entries: readonly Entry[];
  readonly problems: readonly string[];
}

export interface FoundConvlog {
  readonly place: string;
  read(): Promise<{ readonly lines: readonly ConvlogLine[]; readonly problems: readonly string[] }>;
}

/** One line for each kind of thing that was wrong with a file, and where it was first. */
export function problemsOf({ counts, examples }: IssueLog): string[] {
  return [...counts].map(([kind, count]) => {
    const first = examples.find((issue) => issue.kind === kind);
    const where = first?.line === undefined ? '' : `, first in line ${first.line}`;
    return `${count} x ${kind}${where}: ${first?.detail ?? ''}`;
  });
}

/** A text an index holds under a name, if it is one. */
export function textIn(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
