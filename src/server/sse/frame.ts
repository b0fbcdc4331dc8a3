import type { StreamEvent } from '../../protocol/events.ts';

/**
 * Where in a session's events a client is: behind the entry `seq`, and behind `n` more events. Small `n` count events
 * made from stored entries, the same each time. Those of a running turn begin at a number of their own for each lease,
 * so that an id of a run that is gone is never taken for one of the run that took its place.
 */
export interface EventId {
  readonly seq: number;
  readonly n: number;
}

export interface Frame<E extends object = StreamEvent> {
  readonly id: EventId;
  readonly event: E;
  /** As it is sent: made once for all who listen. */
  encoded?: string;
}

/** More than any turn tells. */
const RUN = 1_000_000_000;

/** The last number before the events of a run. */
export function runBase(epoch: number): number {
  return Math.max(1, epoch) * RUN;
}

export function isLive({ n }: EventId): boolean {
  return n >= RUN;
}

/** Undefined: no id of ours, so nothing can be said about what followed it. */
export function parseEventId(text: string | undefined): EventId | undefined {
  const [, seq, n] = /^(\d{1,15})\.(\d{1,16})$/.exec(text ?? '') ?? [];
  const id = { seq: Number(seq), n: Number(n) };
  return Number.isSafeInteger(id.seq) && Number.isSafeInteger(id.n) ? id : undefined;
}

/** Line breaks to some readers, though not to the format. */
const OTHER_BREAKS = /[\u0085\u2028\u2029]/g;

/** JSON has no raw line breaks, and ids are digits: whatever an event says, it is one frame (T81). */
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

/** What one write takes: the same bytes for all who are sent the same list. */
export function encodeBatch(frames: readonly Frame<object>[]): Uint8Array {
  const known = BATCHES.get(frames);
  if (known !== undefined) return known;
  const bytes = Buffer.from(frames.map(encodeFrame).join(''));
  BATCHES.set(frames, bytes);
  return bytes;
}

export const KEEP_ALIVE = ':\n\n';
