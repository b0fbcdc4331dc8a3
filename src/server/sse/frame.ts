import type { StreamEvent } from '../../protocol/events.ts';

/**
 * A position in a session's event stream: after the entry `seq` and `n` further events. Small numbers count events
 * derived from stored entries, which are the same each time. Events of a running turn start at a number that depends on
 * the lease, so that an id from a lost run cannot be mistaken for one of the run that replaced it.
 */
export interface EventId {
  readonly seq: number;
  readonly n: number;
}

export interface Frame<E extends object = StreamEvent> {
  readonly id: EventId;
  readonly event: E;
  /** The encoded frame, shared by all clients. */
  encoded?: string;
}

/** Larger than the number of events in any turn. */
const RUN = 1_000_000_000;

/** The number before the first event of a run. */
export function runBase(epoch: number): number {
  return Math.max(1, epoch) * RUN;
}

export function isLive({ n }: EventId): boolean {
  return n >= RUN;
}

/** @returns undefined for ids that this server did not create. */
export function parseEventId(text: string | undefined): EventId | undefined {
  const [, seq, n] = /^(\d{1,15})\.(\d{1,16})$/.exec(text ?? '') ?? [];
  const id = { seq: Number(seq), n: Number(n) };
  return Number.isSafeInteger(id.seq) && Number.isSafeInteger(id.n) ? id : undefined;
}

/** Some clients treat these as line breaks, although SSE does not. */
const OTHER_BREAKS = /[\u0085\u2028\u2029]/g;

/** JSON contains no raw line breaks and ids are digits, so each event is exactly one frame (T81). */
function encodeFrame(frame: Frame<object>): string {
  frame.encoded ??= encode(frame);
  return frame.encoded;
}

function encode({ id, event }: Frame<object>): string {
  const data = JSON.stringify(event).replace(OTHER_BREAKS, escaped);
  return `id: ${id.seq}.${id.n}\ndata: ${data}\n\n`;
}

function escaped(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

const BATCHES: WeakMap<readonly Frame<object>[], Uint8Array> = new WeakMap();

/** The bytes of one write, shared by all clients that get the same list. */
export function encodeBatch(frames: readonly Frame<object>[]): Uint8Array {
  const known = BATCHES.get(frames);
  if (known !== undefined) return known;
  const bytes = Buffer.from(frames.map(encodeFrame).join(''));
  BATCHES.set(frames, bytes);
  return bytes;
}

export const KEEP_ALIVE = ':\n\n';
