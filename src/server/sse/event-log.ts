import type { SessionEvent } from '../../engine/events.ts';
import { isTerminalFrame, type StreamEvent, toStreamEvent } from '../../protocol/events.ts';
import { type EventId, type Frame, runBase } from './frame.ts';
import { LatestRead, type ReadEvents } from './latest-read.ts';
import {
  cutFront,
  isSameKind,
  join,
  type LogRecord,
  restOf,
  sizeOf,
  sizes,
  type ToldRecord,
  toldOf,
} from './log-record.ts';
import type { Ask, TurnPart } from './relay-message.ts';

type TurnStart = Extract<SessionEvent['event'], { type: 'turn_start' }>;

export interface LoggedTurn {
  readonly turnId: string;
  /** Runs in this process; otherwise it is told by another, with the numbers it was given there. */
  readonly isOwn: boolean;
  readonly epoch: number;
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
  /** Then: the number of the last event of it that is here. What follows is another turn's. */
  lostAt?: number;
}

/** Fresh events are told one by one; behind so many they are put together. */
const FRESH = 512;
const MERGED_CHARS = 16 * 1024;
const MAX_TURNS = 64;

/**
 * What the turns of one session told, here or in the process that ran them, for clients that come late or come back.
 * Every process has the same events under the same numbers (I-55). What is older than the last stored entry may be
 * forgotten when it becomes too much: the store has it.
 */
export class SessionLog {
  readonly sessionId: string;
  readonly #maxSize: number;
  readonly #onSize: (change: number) => void;
  readonly #waiting: Set<() => void> = new Set();
  readonly #latestRead: LatestRead = new LatestRead();
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

  /**
   * What another process told. `gap`: something between this and what is here has not come yet; `old`: all of it is
   * here, or has been passed.
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

  /** Something another process told of the turn under way will not come any more: it is no use for anybody. */
  loseTurn(): void {
    const turn = this.#turns.at(-1);
    if (turn !== undefined && turn.end === undefined && !turn.isOwn) this.#lose(turn);
    for (const onNews of this.#waiting) onNews();
  }

  /** Up to where everything is here of the turns another process told; undefined: nothing is of use. */
  get heard(): number | undefined {
    const turn = this.#turns.at(-1);
    return turn === undefined || turn.isLost === true ? undefined : this.#last;
  }

  /** Behind which number this process has what another asks for; undefined: it has nothing for it. */
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

  /** What the turns of this process told behind a number, about `maxChars` in a part. */
  *parts(after: number, maxChars: number): Generator<TurnPart, void, undefined> {
    for (const { isOwn, isLost, members, end, ...turn } of [...this.#turns]) {
      const until = end ?? this.#last;
      if (!isOwn || isLost === true || until < after) continue;
      const floor = Math.max(turn.before, Math.min(this.#floor, until));
      // Whom it answers may have changed without a word.
      if (until === after && end === undefined) yield { ...turn, members: [...members], floor, records: [] };
      for (let from = Math.max(after, floor); from < until; ) {
        const records: ToldRecord[] = [];
        let chars = 0;
        for (let at = this.#find(from); at < this.#records.length && chars < maxChars; at++) {
          const record = this.#records[at] as LogRecord;
          if (record.first > until) break;
          records.push(toldOf(record.first <= from ? cutFront(record, from) : record));
          chars += record.size;
          from = record.last;
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

  /** A turn of this process is under way, which nobody else could tell again. */
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
    return this.#latestRead.find([after, until, maxChars], () => this.#read(after, until, maxChars));
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
      if (this.#waiting.size === 0) this.#latestRead.forget();
    };
  }

  #hear(inboxId: string, epoch: number, event: SessionEvent['event']): void {
    const current = this.#turns.at(-1);
    // A runner that has lost the session and does not know it yet.
    if (current !== undefined && current.epoch > epoch) return;
    if (event.type === 'turn_start' && current?.turnId !== event.turnId) this.#begin(inboxId, epoch, event);
    else if (current?.isOwn !== true || current.end !== undefined || current.isLost === true) return;
    else if (event.type === 'turn_start' || event === this.#latest) {
      // The same again, for another message that is answered by the turn.
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
    // What is missing of the turn before it may still come. One of ours has lost the session.
    if (records[0]?.first !== floor + 1 || (isUnderWay && !current.isOwn)) return 'gap';
    // Its process counts anew or has forgotten a part, and what was told of it before is of no use.
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
        // The process it runs in has forgotten what is missing here.
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
    const { seq, event, last: n } = told;
    const size = sizeOf(event) + 8 * (told.ends?.length ?? 0);
    this.#last = n;
    this.#lastSeq = seq;
    this.#told += size;
    const frame = told.ends === undefined && { frame: { id: { seq, n }, event } };
    this.#records.push({ ...told, ...frame, size, told: this.#told });
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
    const gone = this.#records[kept === -1 ? this.#records.length - 1 : kept - 1];
    if (gone !== undefined) this.#drop(kept === -1 ? this.#records.length : kept, gone.last);
  }

  /** Nothing of what is here is of use any more. */
  #forgetUpTo(floor: number): void {
    this.#drop(this.#records.length, floor);
    for (const turn of this.#turns) this.#lose(turn);
    this.#turns = [];
  }

  #drop(count: number, floor: number): void {
    const gone = this.#records.splice(0, count);
    this.#settled = Math.max(0, this.#settled - gone.length);
    this.#floor = floor;
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
    this.#latestRead.forget();
    this.#size += change;
    this.#onSize(change);
  }
}

/** Epochs rise with every lease; under one of them turns follow each other. */
function isNewer(part: TurnPart, { turnId, epoch, startSeq, before }: LoggedTurn): boolean {
  if (part.turnId === turnId) return false;
  if (part.epoch !== epoch) return part.epoch > epoch;
  return part.startSeq === startSeq ? part.before > before : part.startSeq > startSeq;
}
