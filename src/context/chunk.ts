import { SAFETY_MARGIN } from './calibration.ts';
import { estimateTokens } from './estimate-message.ts';
import { beginsTurn, carriesResults } from './turn-start.ts';

/** How to count messages; the default counts projected messages, stored entries and those of the common APIs. */
export interface CountOptions<T> {
  readonly tokensOf?: (message: T) => number;
  /** Whether a message begins a turn: a user message without tool results. */
  readonly startsTurn?: (message: T) => boolean;
}

export const BASE_CHUNK_RATIO = 0.4;
export const MIN_CHUNK_RATIO = 0.15;
/** From this share of the window on, the average message counts as large. */
const LARGE_MESSAGE_SHARE = 0.1;

export interface Piece<T> {
  readonly messages: readonly T[];
  readonly tokens: number;
}

/**
 * Splits messages into parts with about equal tokens, only at turn starts. Together the parts are all messages, in
 * order.
 */
export function splitMessagesByTokenShare<T extends object>(
  messages: readonly T[],
  parts = 2,
  options: CountOptions<T> = {},
): T[][] {
  const shares = splitByTokenShare(turnsOf(messages, options), parts);
  return shares.map((turns) => turns.flatMap((turn) => turn.messages));
}

export function splitByTokenShare<T>(turns: readonly Piece<T>[], parts: number): Piece<T>[][] {
  const target = sum(turns) / Math.max(1, Math.floor(parts));
  const shares: Piece<T>[][] = [];
  let current: Piece<T>[] = [];
  let tokens = 0;
  for (const turn of turns) {
    if (current.length > 0 && shares.length < parts - 1 && tokens + turn.tokens > target) {
      shares.push(current);
      current = [];
      tokens = 0;
    }
    current.push(turn);
    tokens += turn.tokens;
  }
  if (current.length > 0) shares.push(current);
  return shares;
}

/**
 * Splits messages into chunks of at most `maxTokens`, in whole turns if possible. A turn that is too large is cut
 * between its rounds, never between a call and its results; a round that is too large is a separate chunk.
 */
export function chunkMessagesByMaxTokens<T extends object>(
  messages: readonly T[],
  maxTokens: number,
  options: CountOptions<T> = {},
): T[][] {
  const chunks: T[][] = [];
  let current: T[] = [];
  let tokens = 0;
  const close = (): void => {
    if (current.length > 0) chunks.push(current);
    current = [];
    tokens = 0;
  };
  for (const turn of turnsOf(messages, options)) {
    for (const piece of turn.tokens <= maxTokens ? [turn] : roundsOf(turn.messages, options)) {
      if (tokens + piece.tokens > maxTokens) close();
      for (const message of piece.messages) current.push(message);
      tokens += piece.tokens;
    }
  }
  close();
  return chunks;
}

/** The share of the window for one chunk: smaller if messages are large, so that a chunk has several. */
export function computeAdaptiveChunkRatio<T extends object>(
  messages: readonly T[],
  contextWindow: number,
  { tokensOf = estimateTokens }: CountOptions<T> = {},
): number {
  if (messages.length === 0) return BASE_CHUNK_RATIO;
  const total = messages.reduce((tokens, message) => tokens + tokensOf(message), 0);
  const share = ((total / messages.length) * SAFETY_MARGIN) / contextWindow;
  if (!(share > LARGE_MESSAGE_SHARE)) return BASE_CHUNK_RATIO;
  return Math.max(MIN_CHUNK_RATIO, BASE_CHUNK_RATIO - share * 2);
}

/** A turn is everything from one user message up to the next; messages before the first one are a turn too. */
export function turnsOf<T extends object>(messages: readonly T[], options: CountOptions<T>): Piece<T>[] {
  const { startsTurn = beginsTurn } = options;
  return pieces(messages, options, startsTurn);
}

function roundsOf<T extends object>(messages: readonly T[], options: CountOptions<T>): Piece<T>[] {
  return pieces(messages, options, (message) => !carriesResults(message));
}

function pieces<T extends object>(
  messages: readonly T[],
  { tokensOf = estimateTokens }: CountOptions<T>,
  begins: (message: T) => boolean,
): Piece<T>[] {
  const found: { messages: T[]; tokens: number }[] = [];
  for (const message of messages) {
    const last = found.at(-1);
    const tokens = tokensOf(message);
    if (last === undefined || begins(message)) found.push({ messages: [message], tokens });
    else {
      last.messages.push(message);
      last.tokens += tokens;
    }
  }
  return found;
}

export function sum(list: readonly { readonly tokens: number }[]): number {
  return list.reduce((total, { tokens }) => total + tokens, 0);
}
