import { findCutPlaces } from '../../compaction/safe-cut.ts';
import { type ApiMessage, isInstruction, type ReadMessages } from './api-messages.ts';

/** Covers the oldest half and keeps a fifth, at least four messages: the numbers of claw0. */
const COMPRESS_SHARE = 0.5;
const KEEP_SHARE = 0.2;
const MIN_KEPT = 4;

/**
 * The start of the kept messages: a user message near the half, else an answer, and never between a call and its
 * result. @returns `undefined` if nothing can be covered.
 */
export function findMessageCut(
  messages: readonly ApiMessage[],
  { entries, begins }: ReadMessages,
): number | undefined {
  const spoken = messages.flatMap((message, at) => (isInstruction(message) ? [] : [at]));
  const keep = Math.max(MIN_KEPT, Math.floor(spoken.length * KEEP_SHARE));
  const last = spoken.length - keep;
  const wanted = Math.min(Math.max(2, Math.floor(spoken.length * COMPRESS_SHARE)), last);
  if (wanted <= 0) return undefined;
  const { safe, turnStarts } = findCutPlaces(entries);
  const startsAt = new Set(turnStarts);
  const starts: number[] = [];
  const inside: number[] = [];
  for (const [nth, at] of spoken.slice(0, last + 1).entries()) {
    const entry = begins[at] ?? 0;
    if (safe[entry] !== true) continue;
    if (startsAt.has(entry)) starts.push(nth);
    else if (messages[at]?.role === 'assistant') inside.push(nth);
  }
  const place =
    // There is only one more call, so a turn start that covers next to nothing does not help.
    starts.findLast((nth) => nth <= wanted && nth >= wanted / 2) ??
    starts.find((nth) => nth > wanted) ??
    inside.find((nth) => nth >= wanted) ??
    [...starts, ...inside].sort((a, b) => a - b).at(-1);
  return place === undefined ? undefined : spoken[place];
}
