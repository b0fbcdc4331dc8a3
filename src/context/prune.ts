import { type CountOptions, splitByTokenShare, sum, turnsOf } from './chunk.ts';

export interface PruneOptions<T> extends CountOptions<T> {
  readonly messages: readonly T[];
  readonly maxContextTokens: number;
  /** The share of the context for history. */
  readonly maxHistoryShare?: number;
  /** History is dropped in parts of this number. */
  readonly parts?: number;
}

export interface PrunedHistory<T> {
  /** The kept messages: the newest turns. Dropped and kept ones together are all messages, in order. */
  readonly messages: readonly T[];
  readonly droppedMessagesList: readonly T[];
  readonly droppedChunks: number;
  readonly droppedMessages: number;
  readonly droppedTokens: number;
  readonly keptTokens: number;
  readonly budgetTokens: number;
}

/**
 * For programs with messages of their own; sessions are compacted instead. Drops the oldest part of the turns until
 * the rest fits its share of the context. Whole turns only, so no call loses its result; the last turn always stays,
 * even if it does not fit by itself.
 */
export function pruneHistoryForContextShare<T extends object>({
  messages,
  maxContextTokens,
  maxHistoryShare = 0.5,
  parts = 2,
  ...options
}: PruneOptions<T>): PrunedHistory<T> {
  const budgetTokens = Math.max(1, Math.floor(maxContextTokens * maxHistoryShare));
  let turns = turnsOf(messages, options);
  const total = sum(turns);
  let keptTokens = total;
  let droppedChunks = 0;
  while (keptTokens > budgetTokens) {
    const [oldest = [], next] = splitByTokenShare(turns, Math.max(2, parts));
    if (next === undefined) break;
    turns = turns.slice(oldest.length);
    keptTokens = sum(turns);
    droppedChunks++;
  }
  const kept = turns.flatMap((turn) => turn.messages);
  const droppedMessagesList = messages.slice(0, messages.length - kept.length);
  return {
    messages: kept,
    droppedMessagesList,
    droppedChunks,
    droppedMessages: droppedMessagesList.length,
    droppedTokens: total - keptTokens,
    keptTokens,
    budgetTokens,
  };
}
