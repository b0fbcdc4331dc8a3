import { type CountOptions, turnsOf } from './chunk.ts';
import { beginsTurn } from './turn-start.ts';

export interface LimitTurnsOptions<T> extends Pick<CountOptions<T>, 'startsTurn'> {
  /** Turns with such a message stay, however old they are. */
  readonly isPinned?: (message: T) => boolean;
}

/**
 * The last `limit` turns, each starting with a user message. Whole turns only, so no call loses its result. Without a
 * limit above 0, all messages.
 */
export function limitHistoryTurns<T extends object>(
  messages: readonly T[],
  limit?: number,
  { startsTurn = beginsTurn, isPinned = () => false }: LimitTurnsOptions<T> = {},
): readonly T[] {
  if (limit === undefined || !(limit > 0)) return messages;
  const [first] = messages;
  const turns = turnsOf(messages, { tokensOf: () => 0, startsTurn });
  // Messages before the first user message do not count as a turn.
  const isHeaded = first !== undefined && !startsTurn(first);
  if (turns.length - (isHeaded ? 1 : 0) <= limit) return messages;
  const kept = turns.filter((turn, i) => i >= turns.length - limit || turn.messages.some(isPinned));
  return kept.flatMap((turn) => turn.messages);
}
