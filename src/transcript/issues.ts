/**
 * Everything that a reader may find damaged or foreign in a transcript. Each issue is counted with its position and
 * never silent (P3).
 */
export type IssueKind =
  | 'bad-json'
  | 'not-a-record'
  | 'too-deep'
  | 'too-long'
  | 'bad-utf8'
  | 'inexact-number'
  | 'unknown-record'
  | 'extra-header'
  | 'newer-version'
  | 'foreign-line'
  | 'torn-tail'
  | 'broken-seal'
  | 'corrupt'
  | 'stale-line'
  | 'duplicate-id'
  | 'missing-parent'
  | 'cycle'
  | 'missing-first-kept';

export interface Issue {
  readonly kind: IssueKind;
  /** Line of the file, from 1, if there is one. */
  readonly line?: number;
  /** Byte offset of that line. */
  readonly offset?: number;
  readonly detail: string;
}

const EXAMPLES_PER_KIND = 20;

/** Counts every issue and stores the first few of each kind, so that a file of garbage costs no memory. */
export class IssueLog {
  readonly #counts: Map<IssueKind, number> = new Map();
  readonly #examples: Issue[] = [];

  add(issue: Issue): void {
    const count = (this.#counts.get(issue.kind) ?? 0) + 1;
    this.#counts.set(issue.kind, count);
    if (count <= EXAMPLES_PER_KIND) this.#examples.push(issue);
  }

  count(kind: IssueKind): number {
    return this.#counts.get(kind) ?? 0;
  }

  get counts(): ReadonlyMap<IssueKind, number> {
    return this.#counts;
  }

  /** The first 20 of each kind, in the order they were found. */
  get examples(): readonly Issue[] {
    return this.#examples;
  }
}
