import type { Reprise } from '../../engine/reprise.ts';
import type { StreamEvent } from '../../protocol/events.ts';
import type { ToldRecord } from './log-record.ts';

type JsonObject = Parameters<Reprise['store']['publish']>[1];

/** A part of what a turn told, with the numbers the process gave that runs it. Every part says whose it is. */
export interface TurnPart {
  readonly turnId: string;
  readonly epoch: number;
  /** The last entry stored before the turn. */
  readonly startSeq: number;
  /** The number before its first event. */
  readonly before: number;
  /** Its process has forgotten what is up to here; `before`: nothing. */
  readonly floor: number;
  readonly start: StreamEvent;
  /** The messages it answers, with the number behind which each hears of it. */
  readonly members: readonly (readonly [string, number])[];
  readonly records: readonly ToldRecord[];
}

/** What a process wants to hear of a session: from now on, and what was said before. */
export interface Ask {
  readonly sessionId: string;
  /** Everything up to here is there already. */
  readonly have?: number;
  /** The turn with this number is wanted, because a client goes on behind it. */
  readonly at?: number;
  /** The turn that answers this message is wanted. */
  readonly message?: string;
}

export type RelayMessage =
  /** A process has begun to listen: whoever wants to hear of a session says so again. */
  | { readonly kind: 'hello' }
  /** The answer to it. */
  | { readonly kind: 'here' }
  | { readonly kind: 'ask'; readonly asks: readonly Ask[] }
  | { readonly kind: 'told'; readonly part: TurnPart }
  /** Of a message that is too long for one. */
  | {
      readonly kind: 'piece';
      readonly id: number;
      readonly at: number;
      readonly of: number;
      readonly text: string;
    };

/** Processes of another version are not understood, and do not understand us: they are as if they were not there. */
const VERSION = 1;
/** Of UTF-16, so that a piece is within what a store passes on whatever it holds. */
const PIECE_CHARS = 18_000;
const MAX_PIECES = 400;
const MAX_INCOMPLETE = 16;

let made = 0;

/** A message in as many as it takes; none: it is too long for anybody. */
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

/** As text: what is in it is nothing for a store to look at. */
function envelope(from: string, body: string): JsonObject {
  return { relay: VERSION, from, body };
}

/** Puts pieces together. What never becomes whole is let go when newer ones come. */
export class MessageReader {
  readonly #pieces: Map<string, { readonly texts: string[]; missing: number }> = new Map();

  /** Undefined: not of us, or not whole yet. */
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
    return undefined; // not of us
  }
}
