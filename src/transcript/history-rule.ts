import type { Seal } from './entry.ts';
import type { Issue } from './issues.ts';
import type { JsonObject } from './json.ts';
import { sealPlace } from './seal.ts';

export interface Place {
  /** Counts from 1. */
  readonly line: number;
  /** In bytes. */
  readonly offset: number;
}

/** A parsed line with its position. */
export interface PlacedRecord extends Place {
  readonly record: JsonObject;
  readonly seal: Seal | 'broken' | undefined;
}

export interface HistoryRule {
  add(placed: PlacedRecord): void;
  /** Called for a line that is not a record. */
  addBad(place: Place): void;
  finish(): void;
}

interface OpenAppend {
  readonly lines: PlacedRecord[];
  readonly firstSeq: number;
  readonly n: number;
  readonly epoch: number;
}

/**
 * Decides which lines are history in a file that Reprise wrote, from the file alone (I-4). In file order, an append
 * is history if and only if it is complete, its seals verify, its first `q` is the next one and its epoch is not
 * lower than the last. Lines without a seal come from other tools and are accepted. A gap in `q` before a good append
 * is damage: its position is reported, and every line that still verifies stays readable. Invalid lines at the end
 * are a torn append that was never acknowledged. `known` is the position to continue from if the lines before it are
 * already settled.
 */
export function createHistoryRule(
  accept: (placed: PlacedRecord) => void,
  report: (issue: Issue) => void,
  known: { readonly lines: number; readonly epoch: number } = { lines: 0, epoch: 0 },
): HistoryRule {
  let nextSeq = known.lines + 1;
  let { epoch } = known;
  let open: OpenAppend | null = null;
  /** Verified lines that belong to no complete append: torn if the file ends here, damaged if more lines follow. */
  let strays: { readonly placed: PlacedRecord; readonly q: number }[] = [];
  let suspect: Place | null = null;

  const abandon = (): void => {
    if (open === null) return;
    for (const [i, placed] of open.lines.entries()) strays.push({ placed, q: open.firstSeq + i });
    suspect ??= placeOf(open.lines[0]);
    open = null;
  };
  const commit = (append: OpenAppend): void => {
    if (append.firstSeq > nextSeq) {
      const at = suspect ?? placeOf(append.lines[0]);
      report({ kind: 'corrupt', ...at, detail: missingSeqs(nextSeq, append.firstSeq - 1) });
      for (const { placed, q } of strays) if (q >= nextSeq && q < append.firstSeq) accept(placed);
    }
    strays = [];
    suspect = null;
    nextSeq = append.firstSeq + append.n;
    epoch = append.epoch;
    for (const line of append.lines) accept(line);
  };
  const addSealed = (placed: PlacedRecord, seal: Seal): void => {
    if (seal.b === '1/1' && seal.q === nextSeq && seal.e >= epoch && open === null && suspect === null) {
      // Reached for nearly every line, so it allocates nothing except the result.
      nextSeq++;
      epoch = seal.e;
      accept(placed);
      return;
    }
    const { i, n } = sealPlace(seal);
    if (open !== null) {
      const { lines, firstSeq } = open;
      const isNext = i === lines.length + 1 && n === open.n && seal.q === firstSeq + lines.length;
      if (isNext && seal.e === open.epoch) {
        lines.push(placed);
        if (i < n) return;
        const append = open;
        open = null;
        commit(append);
        return;
      }
      abandon();
    }
    if (seal.e < epoch || seal.q < nextSeq) {
      const why = seal.e < epoch ? `epoch ${seal.e} after epoch ${epoch}` : `line ${seal.q} once more`;
      report({ kind: 'stale-line', ...placeOf(placed), detail: why });
    } else if (i > 1) {
      strays.push({ placed, q: seal.q });
      suspect ??= placeOf(placed);
    } else {
      const append = { lines: [placed], firstSeq: seal.q, n, epoch: seal.e };
      if (n === 1) commit(append);
      else open = append;
    }
  };

  return {
    add(placed) {
      if (placed.seal === 'broken') {
        report({ kind: 'broken-seal', ...placeOf(placed), detail: 'the bytes are not what was sealed' });
        suspect ??= placeOf(placed);
      } else if (placed.seal !== undefined) {
        addSealed(placed, placed.seal);
      } else {
        report({ kind: 'foreign-line', ...placeOf(placed), detail: 'not written by Reprise' });
        accept(placed);
      }
    },
    addBad(at) {
      suspect ??= placeOf(at);
    },
    finish() {
      abandon();
      if (suspect !== null) {
        report({ kind: 'torn-tail', ...suspect, detail: 'an append that was never completed' });
      }
    },
  };
}

function missingSeqs(first: number, last: number): string {
  return first === last
    ? `line ${first} is damaged or missing`
    : `lines ${first} to ${last} are damaged or missing`;
}

function placeOf(at: Place | undefined): Place {
  return { line: at?.line ?? 0, offset: at?.offset ?? 0 };
}
