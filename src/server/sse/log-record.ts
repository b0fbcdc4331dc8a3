import type { StreamEvent } from '../../protocol/events.ts';
import type { Frame } from './frame.ts';

/** One event, or several older deltas merged into one. */
export interface ToldRecord {
  readonly seq: number;
  /** Numbers of the first and the last event in it. */
  readonly first: number;
  readonly last: number;
  readonly event: StreamEvent;
  /** Where the text of each merged delta ends; unset for a single event. */
  readonly ends?: readonly number[];
}

/** A record in a log. */
export interface LogRecord extends ToldRecord {
  /** Only for a single event: the frame that all current clients share. */
  readonly frame?: Frame;
  /** Approximate memory, in characters. */
  readonly size: number;
  /** Total size of the log up to the end of this record. */
  readonly told: number;
}

/** The part of a merged record after an event number. */
export function restOf({ seq, first, last, event, ends = [] }: ToldRecord, after: number): Frame {
  const seen = after - first;
  const isPart = seen >= 0 && 'text' in event;
  const rest = isPart ? ({ ...event, text: event.text.slice(ends[seen]) } as StreamEvent) : event;
  return { id: { seq, n: last }, event: rest };
}

/** A record without its events up to a number inside it. */
export function cutFront(record: ToldRecord, after: number): ToldRecord {
  const { seq, last, ends = [] } = record;
  const begin = ends[after - record.first] ?? 0;
  const rest = ends.slice(after - record.first + 1).map((end) => end - begin);
  const { event } = restOf(record, after);
  return { seq, first: after + 1, last, event, ...(rest.length > 1 && { ends: rest }) };
}

export function isSameKind(a: LogRecord, b: LogRecord): boolean {
  const { type } = a.event;
  return (type === 'text_delta' || type === 'thinking_delta') && b.event.type === type && a.seq === b.seq;
}

export function join(run: readonly LogRecord[]): LogRecord {
  const [head] = run as [LogRecord];
  const ends: number[] = [];
  const texts: string[] = [];
  let begin = 0;
  for (const { event, ends: own } of run) {
    const text = 'text' in event ? event.text : '';
    for (const end of own ?? [text.length]) ends.push(begin + end);
    begin += text.length;
    texts.push(text);
  }
  const event = { ...head.event, text: texts.join('') } as StreamEvent;
  const { last, told } = run.at(-1) as LogRecord;
  const size = sizeOf(event) + 8 * ends.length;
  return { seq: head.seq, first: head.first, last, event, size, told, ends };
}

export function sizes(records: readonly LogRecord[]): number {
  return records.reduce((sum, { size }) => sum + size, 0);
}

/** Approximate memory of a frame. */
export function sizeOf(event: StreamEvent): number {
  if (event.type === 'text_delta' || event.type === 'thinking_delta') return event.text.length + 64;
  return JSON.stringify(event).length + 64;
}

/** Without the fields that only its own log uses. */
export function toldOf({ seq, first, last, event, ends }: ToldRecord): ToldRecord {
  return { seq, first, last, event, ...(ends !== undefined && { ends }) };
}
