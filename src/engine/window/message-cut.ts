import { findCutPlaces } from '../../compaction/safe-cut.ts';
import { type ApiMessage, isInstruction, type ReadMessages } from './api-messages.ts';

/** The oldest half goes; a fifth, and at least four messages, stays. Numbers people know from claw0. */
const COMPRESS_SHARE = 0.5;
const KEEP_SHARE = 0.2;
const MIN_KEPT = 4;

/**
 * Where the kept messages begin: at a person's message near the half, else at an answer, and never between a call
 * and its result. Undefined: there is nothing that could go.
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
    // There is one more call and no more: a turn start that covers next to nothing is no help.
    starts.findLast((nth) => nth <= wanted && nth >= wanted / 2) ??
    starts.find((nth) => nth > wanted) ??
    inside.find((nth) => nth >= wanted) ??
    [...starts, ...inside].sort((a, b) => a - b).at(-1);
  return place === undefined ? undefined : spoken[place];
}
