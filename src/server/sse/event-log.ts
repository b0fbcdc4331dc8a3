import type { SessionEvent } from '../../engine/events.ts';
import { isTerminalFrame, type StreamEvent, toStreamEvent } from '../../protocol/events.ts';
import { type EventId, type Frame, runBase } from './frame.ts';

type TurnStart = Extract<SessionEvent['event'], { type: 'turn_start' }>;

/** One or, where they are old, several deltas in one. */
interface LogRecord {
  readonly seq: number;
  /** Of the first and the last event in it. */
  readonly first: number;
  readonly last: number;
  readonly event: StreamEvent;
  /** Of one event alone, which all who listen now are sent. */
  readonly frame?: Frame;
  readonly size: number;
  /** How much was told up to its end. */
  readonly told: number;
  /** Where the text of each event in it ends; unset for one event. */
  readonly ends?: readonly number[];
}

export interface LoggedTurn {
  readonly turnId: string;
  /** The last entry stored before it. */
  readonly startSeq: number;
  /** The number before its first event. */
  readonly before: number;
  readonly start: StreamEvent;
  /** The messages it answers, with the number behind which each hears of it. */
  readonly members: Map<string, number>;
  /** The number of its terminal event. */
  end?: number;
  /** Another took its place before it ended: its runner has lost the session. */
  isLost?: true;
}

export interface ReadEvents {
  readonly frames: readonly Frame[];
  readonly told: number;
}

interface LatestRead {
  readonly asked: readonly number[];
  readonly answer: ReadEvents;
}

const NOTHING_READ: LatestRead = { asked: [Number.NaN], answer: { frames: [], told: 0 } };

/** Fresh events are told one by one; behind so many they are put together. */
const FRESH = 512;
const MERGED_CHARS = 16 * 1024;
const MAX_TURNS = 64;

/**
 * What the turns of one session told in this process, for clients that come late or come back. What is older than the
 * last stored entry may be forgotten when it becomes too much: the store has it.
 */
export class SessionLog {
  readonly sessionId: string;
  readonly #maxSize: number;
  readonly #onSize: (change: number) => void;
  readonly #waiting: Set<() => void> = new Set();
  #records: LogRecord[] = [];
  /** So many of the records are as they will stay. */
  #settled = 0;
  #turns: LoggedTurn[] = [];
  #last = 0;
  #lastSeq = 0;
  /** Everything up to here is forgotten. */
  #floor = 0;
  #size = 0;
  #told = 0;
  #latest: SessionEvent['event'] | undefined;
  #latestRead: LatestRead = NOTHING_READ;

  constructor(sessionId: string, maxSize: number, onSize: (change: number) => void) {
    this.sessionId = sessionId;
    this.#maxSize = maxSize;
    this.#onSize = onSize;
  }

  take({ inboxId, epoch, event }: SessionEvent): void {
    // What is about no message of a turn is nothing to resume; an end of one whose turn is not here stands in its row.
    if (inboxId !== undefined && epoch !== undefined) this.#hear(inboxId, epoch, event);
    for (const onNews of this.#waiting) onNews();
  }

  /** Something of the turn under way was not heard: it is no use for anybody any more. */
  loseTurn(): void {
    const turn = this.#turns.at(-1);
    if (turn !== undefined && turn.end === undefined) turn.isLost = true;
    for (const onNews of this.#waiting) onNews();
  }

  /** The newest turn that answers a message. */
  turnOf(inboxId: string): LoggedTurn | undefined {
    return this.#turns.findLast(({ members }) => members.has(inboxId));
  }

  /** The turn an id is of, if everything behind the id is still here. */
  turnAt({ seq, n }: EventId): LoggedTurn | undefined {
    if (n < this.#floor || n > this.#last) return undefined;
    const turn = this.#turns.findLast(({ before, end }) => before < n && n <= (end ?? this.#last));
    const record = this.#records[this.#find(n - 1)];
    const isSame = n === this.#floor || (record !== undefined && record.first <= n && record.seq === seq);
    return isSame ? turn : undefined;
  }

  has(n: number): boolean {
    return n >= this.#floor;
  }

  /**
   * Where this log takes over from the entries for a message of a turn: what is stored up to `seq` is told before,
   * what is behind `n` here. `seq` of the argument has been told already. Undefined: not yet.
   */
  seam({ startSeq, before, members, end }: LoggedTurn, inboxId: string, seq: number): EventId | undefined {
    const joined = members.get(inboxId) ?? before;
    if (seq <= startSeq && this.has(joined)) return { seq: startSeq, n: joined };
    const next = this.#records.find((record) => record.seq >= seq && record.first > joined);
    if (next === undefined || next.first > (end ?? next.first)) return undefined;
    return { seq: next.seq, n: next.first - 1 };
  }

  placeOf(n: number): EventId {
    return { seq: this.#records[this.#find(n - 1)]?.seq ?? this.#lastSeq, n };
  }

  get isOpen(): boolean {
    const turn = this.#turns.at(-1);
    return turn !== undefined && turn.end === undefined && turn.isLost !== true;
  }

  get isWatched(): boolean {
    return this.#waiting.size > 0;
  }

  get size(): number {
    return this.#size;
  }

  /** How much was ever told: what a client has not been sent yet is a difference of two of these. */
  get told(): number {
    return this.#told;
  }

  /**
   * The next events behind a number, about `maxChars` of them, and how much was told up to there. All who are at the
   * same place are given the same list, so that it is made and encoded once.
   */
  read(after: number, until: number, maxChars: number): ReadEvents {
    const { asked } = this.#latestRead;
    const question = [after, until, maxChars, this.#last] as const;
    if (asked.every((value, i) => value === question[i])) return this.#latestRead.answer;
    const answer = this.#read(after, until, maxChars);
    this.#latestRead = { asked: question, answer };
    return answer;
  }

  #read(after: number, until: number, maxChars: number): ReadEvents {
    const frames: Frame[] = [];
    let chars = 0;
    let told = 0;
    for (let at = this.#find(after); at < this.#records.length && chars < maxChars; at++) {
      const record = this.#records[at] as LogRecord;
      if (record.first > until) break;
      frames.push(record.frame ?? restOf(record, after));
      chars += record.size;
      told = record.told;
    }
    return { frames, told };
  }

  /** Calls back whenever something is told, until it is ended. */
  watch(onNews: () => void): () => void {
    this.#waiting.add(onNews);
    return () => {
      this.#waiting.delete(onNews);
      // Nobody else will ask for what was read last.
      if (this.#waiting.size === 0) this.#latestRead = NOTHING_READ;
    };
  }

  #hear(inboxId: string, epoch: number, event: SessionEvent['event']): void {
    const current = this.#turns.at(-1);
    if (event.type === 'turn_start' && current?.turnId !== event.turnId) this.#begin(inboxId, epoch, event);
    else if (current === undefined || current.end !== undefined || current.isLost === true) return;
    else if (event.type === 'turn_start' || event === this.#latest) {
      // The same again, for another message that is answered by the turn.
      if (!current.members.has(inboxId)) current.members.set(inboxId, this.#last);
      return;
    } else if (!current.members.has(inboxId)) return;
    this.#latest = event;
    if (event.type === 'entry' || event.type === 'compaction') this.#lastSeq = event.seq;
    const told = toStreamEvent(event, this.sessionId);
    if (told !== undefined) this.#push(told);
  }

  #begin(inboxId: string, epoch: number, event: TurnStart): void {
    const left = this.#turns.at(-1);
    if (left !== undefined && left.end === undefined) left.isLost = true;
    this.#last = Math.max(this.#last, runBase(epoch));
    this.#lastSeq = event.seq;
    const { turnId, seq: startSeq } = event;
    const start = toStreamEvent(event, this.sessionId) as StreamEvent;
    const members = new Map([[inboxId, this.#last]]);
    this.#turns.push({ turnId, startSeq, before: this.#last, start, members });
    if (this.#turns.length > MAX_TURNS) this.#turns.shift();
  }

  #push(event: StreamEvent): void {
    const n = ++this.#last;
    const size = sizeOf(event);
    this.#told += size;
    const seq = this.#lastSeq;
    const frame = { id: { seq, n }, event };
    this.#records.push({ seq, first: n, last: n, event, frame, size, told: this.#told });
    this.#grow(size);
    const turn = this.#turns.at(-1);
    if (turn !== undefined && isTerminalFrame(event)) turn.end = n;
    if (this.#records.length - this.#settled >= 2 * FRESH) this.#merge();
    if (this.#size > this.#maxSize) this.#forget();
  }

  /** Many small strings cost far more than what they say. */
  #merge(): void {
    const old = this.#records.slice(this.#settled, this.#settled + FRESH);
    const merged: LogRecord[] = [];
    for (let at = 0; at < old.length; ) {
      const head = old[at] as LogRecord;
      const run = [head];
      let size = head.size;
      for (let next = old[++at]; next !== undefined && isSameKind(head, next); next = old[++at]) {
        if (size + next.size > MERGED_CHARS) break;
        size += next.size;
        run.push(next);
      }
      merged.push(run.length === 1 ? head : join(run));
    }
    this.#records.splice(this.#settled, FRESH, ...merged);
    this.#settled += merged.length;
    this.#grow(sizes(merged) - sizes(old));
  }

  #forget(): void {
    const kept = this.#records.findIndex(({ seq }) => seq >= this.#lastSeq);
    const gone = this.#records.splice(0, kept === -1 ? this.#records.length : kept);
    this.#settled = Math.max(0, this.#settled - gone.length);
    this.#floor = gone.at(-1)?.last ?? this.#floor;
    this.#grow(-sizes(gone));
  }

  /** Of the first record with something behind a number. */
  #find(n: number): number {
    let low = 0;
    let high = this.#records.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#records[middle] as LogRecord).last > n) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  #grow(change: number): void {
    this.#size += change;
    this.#onSize(change);
  }
}

/** What is behind a number of several events in one. */
function restOf({ seq, first, last, event, ends = [] }: LogRecord, after: number): Frame {
  const seen = after - first;
  const isPart = seen >= 0 && 'text' in event;
  const rest = isPart ? ({ ...event, text: event.text.slice(ends[seen]) } as StreamEvent) : event;
  return { id: { seq, n: last }, event: rest };
}

function isSameKind(a: LogRecord, b: LogRecord): boolean {
  const { type } = a.event;
  return (type === 'text_delta' || type === 'thinking_delta') && b.event.type === type && a.seq === b.seq;
}

function join(run: readonly LogRecord[]): LogRecord {
  const [head] = run as [LogRecord];
  const ends: number[] = [];
  let end = 0;
  const texts = run.map(({ event }) => ('text' in event ? event.text : ''));
  for (const text of texts) {
    end += text.length;
    ends.push(end);
  }
  const event = { ...head.event, text: texts.join('') } as StreamEvent;
  const { last, told } = run.at(-1) as LogRecord;
  const size = sizeOf(event) + 8 * ends.length;
  return { seq: head.seq, first: head.first, last, event, size, told, ends };
}

function sizes(records: readonly LogRecord[]): number {
  return records.reduce((sum, { size }) => sum + size, 0);
}

/** About what a frame of it takes. */
function sizeOf(event: StreamEvent): number {
  if (event.type === 'text_delta' || event.type === 'thinking_delta') return event.text.length + 64;
  return JSON.stringify(event).length + 64;
}
