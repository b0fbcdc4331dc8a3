import type { SessionEvent } from '../../engine/events.ts';
import { isTerminalFrame, type StreamEvent, toStreamEvent } from '../../protocol/events.ts';
import { type EventId, runBase } from './frame.ts';
import type { ReadEvents } from './latest-read.ts';
import { cutFront, type ToldRecord, toldOf } from './log-record.ts';
import { LogRecords } from './log-records.ts';
import type { Ask, TurnPart } from './relay-message.ts';

type TurnStart = Extract<SessionEvent['event'], { type: 'turn_start' }>;

export interface LoggedTurn {
  readonly turnId: string;
  /** The turn runs in this process. Otherwise another process sends its events, with their numbers. */
  readonly isOwn: boolean;
  readonly epoch: number;
  /** Sequence number of the last entry stored before the turn. */
  readonly startSeq: number;
  /** Number of the event before its first one. */
  readonly before: number;
  readonly start: StreamEvent;
  /** The messages it answers, with the event number after which each belongs to the turn. */
  readonly members: Map<string, number>;
  /** Number of its terminal event. */
  end?: number;
  /** Another turn started before this one ended: its runner has lost the session. */
  isLost?: true;
  /** For a lost turn: number of its last event in this log. Later events belong to another turn. */
  lostAt?: number;
}

const MAX_TURNS = 64;

/**
 * The recent events of one session, from this process or from the process that runs the turn, for clients that connect
 * late or reconnect. Every process has the same events with the same numbers (I-55). When the log becomes too large,
 * events before the last stored entry are dropped, because the store has them.
 */
export class SessionLog {
  readonly sessionId: string;
  readonly #maxSize: number;
  readonly #records: LogRecords;
  readonly #waiting: Set<() => void> = new Set();
  #turns: LoggedTurn[] = [];
  #last = 0;
  #lastSeq = 0;
  /** Events up to this number were dropped. */
  #floor = 0;
  #latest: SessionEvent['event'] | undefined;

  constructor(sessionId: string, maxSize: number, onSize: (change: number) => void) {
    this.sessionId = sessionId;
    this.#maxSize = maxSize;
    this.#records = new LogRecords(onSize);
  }

  take({ inboxId, epoch, event }: SessionEvent): void {
    // Events that belong to no message of a turn cannot be resumed. If a turn is unknown here, its inbox row has its
    // end.
    if (inboxId !== undefined && epoch !== undefined) this.#hear(inboxId, epoch, event);
    for (const onNews of this.#waiting) onNews();
  }

  /**
   * Adds events that another process sent. `gap`: events before these are missing; `old`: the log has these events
   * already.
   */
  absorb(part: TurnPart): 'told' | 'gap' | 'old' {
    const current = this.#turns.at(-1);
    const isSame = current?.turnId === part.turnId;
    let outcome: 'told' | 'gap' | 'old' = 'old';
    if (current === undefined || (isSame && current.isLost === true) || isNewer(part, current))
      outcome = this.#beginElsewhere(part, current);
    else if (isSame && !current.isOwn) outcome = this.#extend(current, part);
    if (outcome === 'told') for (const onNews of this.#waiting) onNews();
    return outcome;
  }

  /** Gives up the running turn of another process, because missing events will not arrive. */
  loseTurn(): void {
    const turn = this.#turns.at(-1);
    if (turn !== undefined && turn.end === undefined && !turn.isOwn) this.#lose(turn);
    for (const onNews of this.#waiting) onNews();
  }

  /** The last event number up to which the log is complete; undefined if it has no usable turn. */
  get heard(): number | undefined {
    const turn = this.#turns.at(-1);
    return turn === undefined || turn.isLost === true ? undefined : this.#last;
  }

  /** @returns the event number after which this process can send what another one asks for, or undefined. */
  answerFrom({ have, at, message }: Ask): number | undefined {
    const own = this.#turns.filter(({ isOwn, isLost }) => isOwn && isLost !== true);
    const isIn = ({ before, end = this.#last }: LoggedTurn, n = -1): boolean => before < n && n <= end;
    if (have !== undefined && have >= this.#floor && own.some((turn) => isIn(turn, have))) return have;
    const turn =
      own.find((one) => isIn(one, at)) ??
      own.findLast(({ members }) => message !== undefined && members.has(message)) ??
      own.find(({ end }) => end === undefined);
    return turn?.before;
  }

  /** Events of this process's turns after a number, in parts of about `maxChars` characters. */
  *parts(after: number, maxChars: number): Generator<TurnPart, void, undefined> {
    for (const { isOwn, isLost, members, end, ...turn } of [...this.#turns]) {
      const until = end ?? this.#last;
      if (!isOwn || isLost === true || until < after) continue;
      const floor = Math.max(turn.before, Math.min(this.#floor, until));
      // A message may have joined the turn without an event.
      if (until === after && end === undefined) yield { ...turn, members: [...members], floor, records: [] };
      for (let from = Math.max(after, floor); from < until; ) {
        const records: ToldRecord[] = [];
        let chars = 0;
        for (const record of this.#records.between(from, until)) {
          records.push(toldOf(record.first <= from ? cutFront(record, from) : record));
          from = record.last;
          chars += record.size;
          if (chars >= maxChars) break;
        }
        if (records.length === 0) break;
        yield { ...turn, members: [...members], floor, records };
      }
    }
  }

  /** The newest turn that answers a message. */
  turnOf(inboxId: string): LoggedTurn | undefined {
    return this.#turns.findLast(({ members }) => members.has(inboxId));
  }

  /** The turn of an event id, if all later events are still in the log. */
  turnAt({ seq, n }: EventId): LoggedTurn | undefined {
    if (n < this.#floor || n > this.#last) return undefined;
    const turn = this.#turns.findLast(({ before, end }) => before < n && n <= (end ?? this.#last));
    const record = this.#records.at(n);
    const isSame = n === this.#floor || (record !== undefined && record.first <= n && record.seq === seq);
    return isSame ? turn : undefined;
  }

  has(n: number): boolean {
    return n >= this.#floor;
  }

  /**
   * Where a stream switches from stored entries to this log for a message of a turn: entries up to `seq` come from the
   * store, events after `n` from here. The stream has already sent entries up to the argument `seq`. @returns undefined
   * if it cannot switch yet.
   */
  seam({ startSeq, before, members, end }: LoggedTurn, inboxId: string, seq: number): EventId | undefined {
    const joined = members.get(inboxId) ?? before;
    if (seq <= startSeq && this.has(joined)) return { seq: startSeq, n: joined };
    const next = this.#records.firstFrom(seq, joined);
    if (next === undefined || next.first > (end ?? next.first)) return undefined;
    return { seq: next.seq, n: next.first - 1 };
  }

  placeOf(n: number): EventId {
    return { seq: this.#records.at(n)?.seq ?? this.#lastSeq, n };
  }

  get isOpen(): boolean {
    const turn = this.#turns.at(-1);
    return turn !== undefined && turn.end === undefined && turn.isLost !== true;
  }

  /** A turn of this process is running. Its events exist nowhere else, so the log must stay in memory. */
  get isNeeded(): boolean {
    return this.isOpen && this.#turns.at(-1)?.isOwn === true;
  }

  get newest(): LoggedTurn | undefined {
    return this.#turns.at(-1);
  }

  /** The number of the last event. */
  get last(): number {
    return this.#last;
  }

  get size(): number {
    return this.#records.size;
  }

  /** Total size of all events ever added; the lag of a client is the difference of two of these. */
  get told(): number {
    return this.#records.told;
  }

  /** The next events after a number, about `maxChars` characters. */
  read(after: number, until: number, maxChars: number): ReadEvents {
    return this.#records.read(after, until, maxChars);
  }

  /**
   * Calls back on every change. @returns a function that ends this.
   */
  watch(onNews: () => void): () => void {
    this.#waiting.add(onNews);
    return () => {
      this.#waiting.delete(onNews);
      if (this.#waiting.size === 0) this.#records.forgetRead();
    };
  }

  #hear(inboxId: string, epoch: number, event: SessionEvent['event']): void {
    const current = this.#turns.at(-1);
    // From a runner that has lost the session and has not noticed.
    if (current !== undefined && current.epoch > epoch) return;
    if (event.type === 'turn_start' && current?.turnId !== event.turnId) this.#begin(inboxId, epoch, event);
    else if (current?.isOwn !== true || current.end !== undefined || current.isLost === true) return;
    else if (event.type === 'turn_start' || event === this.#latest) {
      // The same event again, for another message of the turn.
      if (!current.members.has(inboxId)) current.members.set(inboxId, this.#last);
      return;
    } else if (!current.members.has(inboxId)) return;
    this.#latest = event;
    if (event.type === 'entry' || event.type === 'compaction') this.#lastSeq = event.seq;
    const told = toStreamEvent(event, this.sessionId);
    const n = this.#last + 1;
    if (told !== undefined) this.#push({ seq: this.#lastSeq, first: n, last: n, event: told });
  }

  #begin(inboxId: string, epoch: number, event: TurnStart): void {
    this.#last = Math.max(this.#last, runBase(epoch));
    this.#lastSeq = event.seq;
    const { turnId, seq: startSeq } = event;
    const start = toStreamEvent(event, this.sessionId) as StreamEvent;
    const members = new Map([[inboxId, this.#last]]);
    this.#add({ turnId, isOwn: true, epoch, startSeq, before: this.#last, start, members });
  }

  #beginElsewhere(part: TurnPart, current: LoggedTurn | undefined): 'told' | 'gap' | 'old' {
    const { turnId, epoch, startSeq, before, floor, start, members, records } = part;
    const isUnderWay = current !== undefined && current.end === undefined && current.isLost !== true;
    // The rest of the previous turn may still arrive. If that turn ran here, this process has lost the session.
    if (records[0]?.first !== floor + 1 || (isUnderWay && !current.isOwn)) return 'gap';
    // Its process has restarted the numbering or dropped a part, so earlier events cannot be continued.
    if (before < this.#last || floor > before) this.#forgetUpTo(floor);
    this.#last = floor;
    this.#lastSeq = startSeq;
    const turn = { turnId, isOwn: false, epoch, startSeq, before, start, members: new Map(members) };
    this.#add(turn);
    return this.#extend(turn, part);
  }

  #extend(turn: LoggedTurn, part: TurnPart): 'told' | 'gap' | 'old' {
    let outcome: 'told' | 'old' = 'old';
    for (const [inboxId, joined] of part.members)
      if (!turn.members.has(inboxId)) {
        turn.members.set(inboxId, joined);
        outcome = 'told';
      }
    for (const record of part.records) {
      if (record.last <= this.#last) continue;
      if (turn.end !== undefined) break;
      if (record.first > this.#last + 1) {
        if (part.floor <= this.#last) return 'gap';
        // The process that runs the turn has dropped the missing events.
        this.#lose(turn);
        return this.#beginElsewhere(part, turn);
      }
      this.#push(record.first <= this.#last ? cutFront(record, this.#last) : record);
      outcome = 'told';
    }
    return outcome;
  }

  #add(turn: LoggedTurn): void {
    const left = this.#turns.at(-1);
    if (left !== undefined && left.end === undefined) this.#lose(left);
    if (left?.turnId === turn.turnId) this.#turns.pop();
    this.#turns.push(turn);
    if (this.#turns.length > MAX_TURNS) this.#turns.shift();
  }

  #lose(turn: LoggedTurn): void {
    turn.isLost = true;
    turn.lostAt ??= turn.end ?? this.#last;
  }

  #push(told: ToldRecord): void {
    this.#last = told.last;
    this.#lastSeq = told.seq;
    this.#records.push(told);
    const turn = this.#turns.at(-1);
    if (turn !== undefined && isTerminalFrame(told.event)) turn.end = told.last;
    // Keep the events after the last stored entry: they are not in the store.
    if (this.#records.size > this.#maxSize)
      this.#floor = this.#records.dropBefore(this.#lastSeq) ?? this.#floor;
  }

  /** Drops all events. */
  #forgetUpTo(floor: number): void {
    this.#records.dropAll();
    this.#floor = floor;
    for (const turn of this.#turns) this.#lose(turn);
    this.#turns = [];
  }
}

/** A later lease has a higher epoch. Turns of one epoch follow each other in the transcript. */
function isNewer(part: TurnPart, { turnId, epoch, startSeq, before }: LoggedTurn): boolean {
  if (part.turnId === turnId) return false;
  if (part.epoch !== epoch) return part.epoch > epoch;
  return part.startSeq === startSeq ? part.before > before : part.startSeq > startSeq;
}
