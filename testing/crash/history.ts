import type { Answer } from './driver-process.ts';

export type AttemptOutcome = 'ok' | 'refused' | 'unknown';

/** One attempted append, with everything needed to retry it and to recognize its entries. */
export interface Attempt {
  readonly session: string;
  /** Unique in its history: the idempotency key, and the start of every text. */
  readonly key: string;
  /** Size of each entry's text in bytes. */
  readonly sizes: readonly number[];
  /** `unknown` until an answer arrives. */
  readonly outcome: AttemptOutcome;
  /** Whether any attempt ended without an answer; a later retry may have settled it. */
  readonly wasUnknown: boolean;
  /** The acknowledged seqs; unset if the answer contains none, as with a server. */
  readonly seqs?: { readonly first: number; readonly last: number };
  /** Logical times, to know which append was answered before another one began. */
  readonly begun: number;
  readonly settled?: number;
}

export interface AttemptInit {
  readonly session: string;
  readonly sizes: readonly number[];
}

/** The record of a load: every attempt and the store's answers. `judgeHistory` evaluates it. */
export interface History {
  readonly attempts: ReadonlyMap<string, Attempt>;
  /** Answers that contradict an earlier answer to the same key. */
  readonly contradictions: readonly string[];
  /** Call it before the append is sent. */
  begin(init: AttemptInit): Attempt;
  /** Call it with each answer, of the first attempt and of every retry. */
  settle(key: string, answer: Answer): Attempt;
  /** Attempts that must be retried with the same key to learn their outcome. */
  unknown(): readonly Attempt[];
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

export function createHistory(): History {
  const attempts = new Map<string, Mutable<Attempt>>();
  const contradictions: string[] = [];
  let tick = 0;
  return {
    attempts,
    contradictions,
    begin({ session, sizes }) {
      tick += 1;
      const attempt: Attempt = {
        session,
        key: `a${tick}`,
        sizes,
        outcome: 'unknown',
        wasUnknown: false,
        begun: tick,
      };
      attempts.set(attempt.key, attempt);
      return attempt;
    },
    settle(key, answer) {
      const attempt = attempts.get(key);
      if (attempt === undefined) throw new RangeError(`no attempt ${key} was begun`);
      tick += 1;
      if (!answer.ok) {
        // The answer to a retry cannot undo what an earlier attempt may have written.
        if (answer.outcome !== 'none') attempt.wasUnknown = true;
        else if (attempt.outcome === 'unknown' && !attempt.wasUnknown) attempt.outcome = 'refused';
        return attempt;
      }
      attempt.settled ??= tick;
      attempt.outcome = 'ok';
      if (answer['firstSeq'] === undefined) return attempt;
      const first = Number(answer['firstSeq']);
      const last = Number(answer['lastSeq']);
      const { seqs } = attempt;
      if (seqs && (seqs.first !== first || seqs.last !== last)) {
        contradictions.push(`${key}: acknowledged as ${seqs.first}-${seqs.last}, then as ${first}-${last}`);
        return attempt;
      }
      attempt.seqs = { first, last };
      return attempt;
    },
    unknown: () => [...attempts.values()].filter(({ outcome }) => outcome === 'unknown'),
  };
}

/**
 * A text with a unique start and a regular structure to its end, so that a torn or spliced text is not mistaken for
 * it.
 */
export function textOf({ key, sizes }: Attempt, index: number): string {
  const mould = `${key}#${index}:`;
  const size = Math.max(sizes[index] ?? 0, mould.length);
  return mould.repeat(Math.ceil(size / mould.length)).slice(0, size);
}

/** The command of an attempt, or of its retry. */
export function appendCommand(
  attempt: Attempt,
): Readonly<Record<'op' | 'id' | 'key', string> & { messages: readonly object[] }> {
  const messages = attempt.sizes.map((_, index) => ({ role: 'user', content: textOf(attempt, index) }));
  return { op: 'append', id: attempt.session, key: attempt.key, messages };
}
