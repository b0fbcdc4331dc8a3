import type { DoneEvent, ErrorEvent } from '../../engine/events.ts';
import { commandIn } from '../../engine/intake/receive.ts';
import type { Reprise } from '../../engine/reprise.ts';
import { isTerminalFrame, type StreamEvent, terminalFrame } from '../../protocol/events.ts';
import { GAP_MS, type Need } from './ear.ts';
import type { LoggedTurn, SessionLog } from './event-log.ts';
import type { EventLogs } from './event-logs.ts';
import { type EventId, type Frame, isLive } from './frame.ts';
import { findMessage, keptText, storedFrames } from './stored-frames.ts';
import { Waiter } from './waiter.ts';

export interface EventStreamOptions {
  readonly reprise: Reprise;
  readonly logs: EventLogs;
  readonly sessionId: string;
  readonly sessionKey: string;
  /** Stream the events of this message until it ends. Unset: those of whatever runs in the session. */
  readonly inboxId?: string;
  /** The position after which the client resumes. */
  readonly after?: EventId | undefined;
  /** Aborts when the client has disconnected. */
  readonly signal: AbortSignal;
}

/** Size of one write. */
const BATCH_CHARS = 48 * 1024;
const GRACE_MS = 250;
/** How long a client that connects in the middle of a turn waits for events from the process that runs it. */
const CATCH_UP_MS = 3000;
const ASK_AGAIN_MS = 700;
/** Older messages that have ended are streamed from the store. */
const RECENT_MS = 600_000;
/** Waiting for its turn, or held after a restore. */
const isQueued = ({ state }: { readonly state: string }): boolean => state === 'accepted' || state === 'held';

const TAKEN: ReadonlySet<string> = new Set(['running', 'done', 'failed', 'interrupted', 'merged']);

/**
 * The events of a message or a session: from the log while the turn runs here, otherwise from the stored entries. Event
 * ids decide where the stream switches between the two, so each event is sent exactly once.
 */
export class EventStream {
  readonly #options: EventStreamOptions;
  readonly #log: SessionLog;
  readonly #waiter: Waiter;
  #toldBefore: number;
  #sent = 0;
  #end: DoneEvent | ErrorEvent | undefined;
  /** Other processes were already asked for events of the message. */
  #isCaughtUp = false;

  constructor(options: EventStreamOptions) {
    const { reprise, logs, sessionId, signal } = options;
    this.#options = options;
    this.#waiter = new Waiter({ store: reprise.store, sessionId, signal });
    this.#log = logs.listen(sessionId, signal);
    this.#toldBefore = this.#log.told;
  }

  /** Size of the events since the stream started that were not read yet. */
  get lag(): number {
    return this.#log.told - Math.max(this.#sent, this.#toldBefore);
  }

  async *batches(): AsyncGenerator<readonly Frame[], void, undefined> {
    const { reprise, sessionId, sessionKey, inboxId: asked, after } = this.#options;
    using _waiter = this.#waiter;
    const unwatch = this.#log.watch(this.#waiter.tell);
    try {
      const { lastSeq } = await reprise.store.get(sessionId);
      const open = (await reprise.store.inbox.pending(sessionId)).filter((item) => item.class !== 'command');
      const lead = open.find(({ state }) => state === 'running') ?? open[0];
      const inboxId = asked ?? lead?.inboxId;
      const start = inboxId === undefined ? undefined : await this.#start(inboxId);
      const id = after ?? { seq: start ?? lastSeq, n: 0 };
      const about = { sessionId, sessionKey, ...(inboxId !== undefined && { inboxId }) };
      yield [{ id, event: { type: 'session', ...about } }];
      const position = open.findIndex((item) => item.inboxId === asked);
      if (position > 0 && after === undefined) yield [{ id, event: { type: 'queued', position } }];
      if (inboxId !== undefined) return yield* this.#message(inboxId, id, start);
      let last = id;
      for await (const frames of after === undefined ? [] : this.#followed(after)) {
        last = frames.at(-1)?.id ?? last;
        yield frames;
      }
      // The id of the last event, so that an EventSource that reconnects with it gets nothing twice.
      yield [{ id: last, event: { type: 'idle', sessionId } }];
    } finally {
      unwatch();
    }
  }

  /** Nothing runs: sends everything since the client's position. */
  async *#followed(after: EventId): AsyncGenerator<readonly Frame[], void, undefined> {
    const { reprise, logs, sessionId } = this.#options;
    const known = (): LoggedTurn | undefined => this.#log.turnAt(after);
    // A turn of another process may have continued while no client followed it here.
    const isWhole = (): boolean => known()?.isOwn === true || known()?.end !== undefined;
    if (isLive(after)) await this.#catchUp({ at: after.n }, isWhole);
    let from = { seq: after.seq, n: isLive(after) ? 0 : after.n };
    if (isWhole()) {
      for (let { n } = after; ; ) {
        const { frames } = this.#log.read(n, Number.POSITIVE_INFINITY, BATCH_CHARS);
        const last = frames.at(-1);
        if (last === undefined) break;
        yield frames;
        n = last.id.n;
        from = { seq: last.id.seq, n: 0 };
      }
      // Other turns that ran elsewhere meanwhile are streamed from their entries.
      if (!logs.isShared) return;
    } else if (isLive(after)) yield* this.#interrupted(after.seq);
    for await (const told of storedFrames(reprise.store, sessionId, from, Number.POSITIVE_INFINITY))
      if ('event' in told) yield [told];
  }

  async #start(inboxId: string): Promise<number | undefined> {
    const { store } = this.#options.reprise;
    const item = await store.inbox.get(inboxId);
    return item.class === 'command' || isQueued(item) ? undefined : findMessage(store, item);
  }

  async *#message(
    inboxId: string,
    id: EventId,
    start: number | undefined,
  ): AsyncGenerator<readonly Frame[], void, undefined> {
    const { reprise, sessionId, after, inboxId: asked } = this.#options;
    this.#listen(inboxId);
    if (after === undefined) return yield* this.#stored(inboxId, id, start !== undefined);
    if (isLive(after)) await this.#catchUp({ at: after.n }, () => this.#log.turnAt(after) !== undefined);
    const known = this.#log.turnAt(after);
    if (known?.members.has(inboxId) === true) {
      const place = yield* this.#live(known, after);
      return place === undefined ? undefined : yield* this.#stored(inboxId, place, true);
    }
    if (asked === undefined && known?.end !== undefined) {
      const { frames } = this.#log.read(after.n, known.end, Number.POSITIVE_INFINITY);
      yield frames;
      return yield* this.#stored(inboxId, { seq: frames.at(-1)?.id.seq ?? after.seq, n: 0 }, true);
    }
    const isOurs = asked === undefined || (start !== undefined && after.seq >= start);
    const kept = isOurs ? await keptText(reprise.store, sessionId, after.seq) : '';
    // The client has received all of it.
    if (asked !== undefined && kept === undefined) return yield [{ id, event: { type: 'idle', sessionId } }];
    if (isOurs && isLive(after)) yield* this.#interrupted(after.seq, inboxId);
    yield* this.#stored(inboxId, { seq: after.seq, n: isLive(after) ? 0 : after.n }, isOurs);
  }

  /** Alternates between stored entries and the running turn, for example when a run is lost. Ends with the message. */
  async *#stored(
    inboxId: string,
    from: EventId,
    isBegun: boolean,
  ): AsyncGenerator<readonly Frame[], void, undefined> {
    const { reprise, sessionId } = this.#options;
    let [place, isOurs, seen] = [from, isBegun, from.seq];
    for (;;) {
      this.#waiter.look();
      // Read before the entries: when a message has ended, its last entry is stored.
      const ended = this.#end;
      const waitsBehind = await this.#hearOf(inboxId);
      if (waitsBehind !== undefined) {
        if (await this.#waitForTurn(inboxId, waitsBehind)) continue;
        return;
      }
      const turn = this.#log.turnOf(inboxId);
      const told = isOurs ? place.seq : Math.min(place.seq, turn?.startSeq ?? place.seq);
      const seam = turn?.isLost === true ? undefined : turn && this.#log.seam(turn, inboxId, told);
      const until = seam?.seq ?? Number.POSITIVE_INFINITY;
      for await (const found of storedFrames(reprise.store, sessionId, place, until)) {
        seen = found.seq;
        isOurs ||= found.key === inboxId;
        if (!('event' in found)) continue;
        const isEnd = found.end !== undefined && (await this.#isEnd(found.end.inboxId, inboxId, isOurs));
        if (isEnd) return yield [{ id: found.id, event: await this.#terminal(inboxId) }];
        if (isOurs) yield [found];
        place = found.id;
      }
      if (turn !== undefined && seam !== undefined) {
        if (seam.n > turn.before && seam.n === turn.members.get(inboxId))
          yield [{ id: this.#log.placeOf(seam.n), event: turn.start }];
        const lost = yield* this.#live(turn, seam);
        if (lost === undefined) return;
        [place, isOurs] = [lost, true];
      } else if (ended !== undefined) return yield await this.#told(inboxId, ended, isOurs);
      else {
        const isKnown = isOurs || turn !== undefined;
        const news = isKnown ? this.#waiter.wait({ afterSeq: seen }) : this.#waitForTurn(inboxId, seen);
        if (!(await news)) return;
      }
    }
  }

  /**
   * Streams a turn from the log. @returns the position at which the runner lost the session, or undefined.
   */
  async *#live(
    turn: LoggedTurn,
    from: EventId,
  ): AsyncGenerator<readonly Frame[], EventId | undefined, undefined> {
    const { sessionId } = this.#options;
    for (let at = from; ; ) {
      this.#waiter.look();
      const isOver = this.#end !== undefined;
      if (at.n >= (turn.end ?? Number.POSITIVE_INFINITY)) {
        yield [{ id: at, event: { type: 'idle', sessionId } }];
        return undefined;
      }
      const isGone = !this.#log.has(at.n);
      const until = turn.end ?? turn.lostAt ?? Number.POSITIVE_INFINITY;
      const { frames, told } = isGone ? GONE : this.#log.read(at.n, until, BATCH_CHARS);
      const last = frames.at(-1);
      if (last !== undefined) {
        this.#sent = told;
        at = last.id;
        yield frames;
        if (isTerminalFrame(last.event)) return undefined;
        continue;
      }
      // The inbox row can end slightly before the turn's events.
      const isLost = isGone || turn.isLost === true || (isOver && !(await this.#awaitRest(turn)));
      if (isLost) {
        yield* this.#interrupted(at.seq, undefined, turn.turnId);
        return { seq: at.seq, n: 0 };
      }
      if (!isOver && !(await this.#waiter.wait())) return undefined;
    }
  }

  async #awaitRest({ isOwn }: LoggedTurn): Promise<boolean> {
    const { logs, sessionId } = this.#options;
    if (!isOwn) logs.need(sessionId, {});
    return await this.#waiter.wait({ ms: isOwn ? GRACE_MS : GAP_MS });
  }

  /**
   * Waits until the events of the message's turn arrive from the process that runs it. @returns the last entry while
   * the message is queued, because no entry up to it belongs to the message.
   */
  async #hearOf(inboxId: string): Promise<number | undefined> {
    const { logs, reprise, sessionId } = this.#options;
    const isHere = (): boolean => this.#log.turnOf(inboxId) !== undefined;
    if (!logs.hasPeers || this.#isCaughtUp || isHere()) return undefined;
    const { lastSeq } = await reprise.store.get(sessionId);
    const { state, class: kind, createdAt } = await reprise.store.inbox.get(inboxId);
    if (isQueued({ state })) return lastSeq;
    this.#isCaughtUp = true;
    const isRecent = state === 'running' || Date.now() - Date.parse(createdAt) < RECENT_MS;
    if (kind !== 'command' && TAKEN.has(state) && isRecent) await this.#catchUp({ message: inboxId }, isHere);
    return undefined;
  }

  /**
   * Waits until a queued message is in a turn: the log shows it if the turn runs here, its stored text otherwise. Other
   * turns meanwhile cause no further requests.
   */
  async #waitForTurn(inboxId: string, afterSeq: number): Promise<boolean> {
    using said = this.#waiter.seek(afterSeq, ({ entry }) => entry.seal?.k === inboxId);
    while (!said.isFound && this.#end === undefined && this.#log.turnOf(inboxId) === undefined) {
      this.#waiter.look();
      if (!(await this.#waiter.wait())) return false;
    }
    return true;
  }

  /** Requests events from other processes and waits a moment for them. */
  async #catchUp(need: Need, isHere: () => boolean): Promise<void> {
    const { logs, sessionId } = this.#options;
    if (!logs.hasPeers) return;
    const until = performance.now() + CATCH_UP_MS;
    while (!isHere() && !this.#waiter.isOver) {
      const left = until - performance.now();
      if (left <= 0) break;
      this.#waiter.look();
      logs.need(sessionId, need);
      await this.#waiter.wait({ ms: Math.min(left, ASK_AGAIN_MS) });
    }
    // These events arrived in a batch, so they do not count as the client's lag.
    this.#toldBefore = this.#log.told;
  }

  /** Reports which part of the interrupted answer is stored, whatever the client has received of it. */
  async *#interrupted(
    seq: number,
    inboxId?: string,
    turnId?: string,
  ): AsyncGenerator<readonly Frame[], void, undefined> {
    const { reprise, sessionId } = this.#options;
    const text = await keptText(reprise.store, sessionId, seq);
    if (text === undefined) return; // the answer was complete
    const running = inboxId === undefined ? undefined : this.#log.turnOf(inboxId);
    const named = turnId ?? running?.turnId ?? '';
    yield [{ id: { seq, n: 0 }, event: { type: 'interrupted', turnId: named, text } }];
  }

  /** Whether the end of a turn led by one message is also the end of another message. */
  async #isEnd(lead: string, inboxId: string, isSaid: boolean): Promise<boolean> {
    if (lead === inboxId) return true;
    const turn = this.#log.turnOf(lead);
    // A turn that ended here knows its messages, except those that joined it in a process that crashed.
    if (!isSaid && turn?.isOwn === true && turn.end !== undefined) return turn.members.has(inboxId);
    const { mergedInto } = await this.#options.reprise.inbox(inboxId);
    return mergedInto === lead;
  }

  async #terminal(inboxId: string): Promise<StreamEvent> {
    const { reprise, sessionId, signal } = this.#options;
    return terminalFrame(await reprise.ended(inboxId, { signal }), sessionId);
  }

  /**
   * The end as its inbox row records it: for a message that was in no turn, ran elsewhere, or could not store its end.
   */
  async #told(inboxId: string, ended: DoneEvent | ErrorEvent, isOurs: boolean): Promise<Frame[]> {
    const { reprise, sessionId, after } = this.#options;
    const { lastSeq } = await reprise.store.get(sessionId);
    const { class: kind, detail = {} } = await reprise.store.inbox.get(inboxId);
    const events: StreamEvent[] = [];
    const command = commandIn(detail);
    if (kind === 'command' && ended.type === 'done' && command !== undefined)
      events.push({ type: 'command', ...command });
    else if (ended.type === 'done' && !isOurs) {
      const { turnId, text } = ended;
      if (after !== undefined && isLive(after)) events.push({ type: 'interrupted', turnId, text: '' });
      else events.push({ type: 'turn_start', turnId, model: '' });
      if (text !== '') events.push({ type: 'text_delta', text });
    }
    events.push(terminalFrame(ended, sessionId));
    return events.map((event) => ({ id: { seq: lastSeq, n: 0 }, event }));
  }

  #listen(inboxId: string): void {
    const { reprise, signal } = this.#options;
    reprise.ended(inboxId, { signal }).then(
      (end) => {
        this.#end = end;
        this.#waiter.tell();
      },
      () => {
        // This process will not learn how it ends. The stream breaks off; the client resumes later or on another
        // server.
        this.#waiter.cut();
      },
    );
  }
}

const GONE = { frames: [] as readonly Frame[], told: 0 };
