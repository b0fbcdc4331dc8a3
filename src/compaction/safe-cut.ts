import { answeredCall, callsOf } from '../transcript/content.ts';
import type { Entry } from '../transcript/entry.ts';
import { isObject } from '../transcript/json.ts';

/**
 * Where a history may be cut: a summary covers `entries[0, cut)`, and `entries[cut, …)` stays. A cut is safe if it
 * separates no call from its result. A turn start is where a user or another source begins to speak.
 */
export interface CutPlaces {
  readonly safe: readonly boolean[];
  readonly turnStarts: readonly number[];
}

export function findCutPlaces(entries: readonly Entry[]): CutPlaces {
  // Number of open calls that a cut before this entry would separate from their results.
  const parted = new Array<number>(entries.length + 1).fill(0);
  const open = new Map<string, number>();
  const turnStarts: number[] = [];
  const part = (from: number, to: number): void => {
    parted[from] = (parted[from] ?? 0) + 1;
    parted[to] = (parted[to] ?? 0) - 1;
  };
  for (const [at, entry] of entries.entries()) {
    if (startsTurn(entry)) {
      turnStarts.push(at);
      // Calls of earlier turns that were never answered will never be answered.
      open.clear();
    }
    for (const { id } of callsOf(entry)) open.set(id, at);
    const answered = answeredCall(entry);
    const call = answered === undefined ? undefined : open.get(answered);
    if (answered === undefined || call === undefined) continue;
    part(call + 1, at + 1);
    open.delete(answered);
  }
  // The results of a running turn are still to come.
  for (const call of open.values()) part(call + 1, entries.length + 1);
  const safe: boolean[] = [];
  let depth = 0;
  for (let at = 0; at < entries.length; at++) {
    depth += parted[at] ?? 0;
    safe.push(at > 0 && depth === 0);
  }
  return { safe, turnStarts: turnStarts.filter((at) => safe[at] === true) };
}

/**
 * Every cut of a history uses this function, whatever the strategy. It prefers the start of a turn at or before
 * `wanted`, then the next turn start after it, then a safe index inside a turn. It takes the first of them that
 * `fits`; if none does, the one that keeps the least.
 *
 * @param latest A later cut is taken only if no earlier one fits, because it keeps less than the strategy promises.
 * @returns `undefined` if there is no safe index.
 */
export function safeCut(
  entries: readonly Entry[],
  wanted: number,
  fits: (cut: number) => boolean = () => true,
  latest: number = Number.POSITIVE_INFINITY,
): number | undefined {
  const { safe, turnStarts } = findCutPlaces(entries);
  const before = turnStarts.filter((at) => at <= wanted).reverse();
  const behind = turnStarts.filter((at) => at > wanted);
  const inside: number[] = [];
  for (let at = Math.max(1, wanted); at < entries.length; at++) if (safe[at] === true) inside.push(at);
  const places = [...before.slice(0, 1), ...behind, ...inside, ...lastBefore(safe, wanted)];
  return (
    places.find((at) => at <= latest && fits(at)) ??
    places.find(fits) ??
    (places.length === 0 ? undefined : Math.max(...places))
  );
}

/** The last safe index before `wanted`, as a list with one element or none. */
function lastBefore(safe: readonly boolean[], wanted: number): number[] {
  for (let at = Math.min(wanted, safe.length - 1); at > 0; at--) if (safe[at] === true) return [at];
  return [];
}

/** A turn begins with a user message, or with text that takes its place. */
export function startsTurn(entry: Entry): boolean {
  if (entry.type === 'custom_message' || entry.type === 'branch_summary') return true;
  return roleOf(entry) === 'user' || roleOf(entry) === 'bashExecution';
}

export function roleOf({ type, message }: Entry): string | undefined {
  if (type !== 'message' || !isObject(message)) return undefined;
  return typeof message['role'] === 'string' ? message['role'] : undefined;
}
