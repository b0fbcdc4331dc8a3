import type { Reprise } from '../../engine/reprise.ts';
import type { StreamEvent } from '../../protocol/events.ts';
import type { ToldRecord } from './log-record.ts';

type JsonObject = Parameters<Reprise['store']['publish']>[1];

/** A part of a turn's events, with the numbers assigned by the process that runs it. Each part describes its turn. */
export interface TurnPart {
  readonly turnId: string;
  readonly epoch: number;
  /** Sequence number of the last entry stored before the turn. */
  readonly startSeq: number;
  /** Number of the event before the turn's first one. */
  readonly before: number;
  /** The sender has dropped the turn's events up to this number; equal to `before` if none. */
  readonly floor: number;
  readonly start: StreamEvent;
  /** The messages it answers, with the event number after which each belongs to the turn. */
  readonly members: readonly (readonly [string, number])[];
  readonly records: readonly ToldRecord[];
}

/** What a process needs of a session: all new events, and optionally earlier ones. */
export interface Ask {
  readonly sessionId: string;
  /** The sender has all events up to this number. */
  readonly have?: number;
  /** Requests the turn with this event number, because a client resumes after it. */
  readonly at?: number;
  /** Requests the turn that answers this message. */
  readonly message?: string;
}

export type RelayMessage =
  /** A process has started; the others repeat their requests. */
  | { readonly kind: 'hello' }
  /** The answer to `hello`. */
  | { readonly kind: 'here' }
  | { readonly kind: 'ask'; readonly asks: readonly Ask[] }
  | { readonly kind: 'told'; readonly part: TurnPart }
  /** A part of a message that is too long for one notification. */
  | {
      readonly kind: 'piece';
      readonly id: number;
      readonly at: number;
      readonly of: number;
      readonly text: string;
    };

/** Messages of other versions are ignored, in both directions. */
const VERSION = 1;
/** In UTF-16 units; small enough for a store notification with any characters. */
const PIECE_CHARS = 18_000;
const MAX_PIECES = 400;
const MAX_INCOMPLETE = 16;

let made = 0;

/**
 * Splits a message into notifications. @returns an empty list if it is too long.
 */
export function encodeMessage(from: string, message: RelayMessage): JsonObject[] {
  const text = JSON.stringify(message);
  if (text.length <= PIECE_CHARS) return [envelope(from, text)];
  const of = Math.ceil(text.length / PIECE_CHARS);
  if (of > MAX_PIECES) return [];
  const id = ++made;
  return Array.from({ length: of }, (_, at) => {
    const piece = text.slice(at * PIECE_CHARS, (at + 1) * PIECE_CHARS);
    return envelope(from, JSON.stringify({ kind: 'piece', id, at, of, text: piece }));
  });
}

/** The body is text, so that a store does not process its content. */
function envelope(from: string, body: string): JsonObject {
  return { relay: VERSION, from, body };
}

/** Joins pieces. Incomplete messages are dropped when newer ones arrive. */
export class MessageReader {
  readonly #pieces: Map<string, { readonly texts: string[]; missing: number }> = new Map();

  /** @returns undefined if the message is not from a relay, or not complete yet. */
  read(told: JsonObject): { readonly from: string; readonly message: RelayMessage } | undefined {
    const { relay, from, body } = told;
    if (relay !== VERSION || typeof from !== 'string' || typeof body !== 'string') return undefined;
    const message = parse(body);
    if (message?.kind !== 'piece') return message && { from, message };
    const whole = this.#take(`${from} ${message.id}`, message);
    const put = whole === undefined ? undefined : parse(whole);
    return put && { from, message: put };
  }

  #take(name: string, { at, of, text }: Extract<RelayMessage, { kind: 'piece' }>): string | undefined {
    const known = this.#pieces.get(name) ?? { texts: new Array<string>(of), missing: of };
    this.#pieces.set(name, known);
    if (known.texts[at] === undefined) {
      known.texts[at] = text;
      known.missing--;
    }
    if (known.missing > 0) {
      const [oldest] = this.#pieces.keys();
      if (this.#pieces.size > MAX_INCOMPLETE && oldest !== undefined) this.#pieces.delete(oldest);
      return undefined;
    }
    this.#pieces.delete(name);
    return known.texts.join('');
  }
}

function parse(body: string): RelayMessage | undefined {
  try {
    const message: unknown = JSON.parse(body);
    return typeof message === 'object' && message !== null ? (message as RelayMessage) : undefined;
  } catch {
    return undefined; // not from a relay
  }
}
