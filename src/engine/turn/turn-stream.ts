import { RepriseError } from '../../errors.ts';
import { failure } from '../../messages/failure.ts';
import type { InboxChange, InboxReceipt } from '../../store/port/inbox.ts';
import type { Store } from '../../store/port/store.ts';
import type { Usage } from '../../transcript/entry.ts';
import { type Clock, pause } from '../clock.ts';
import { isTerminal, type SessionEvent, type TurnEvent } from '../events.ts';
import type { Hub } from '../hub.ts';
import type { InboxSignal } from '../schedule/inbox-signal.ts';
import { ended, endOf, isOpen, type TurnEndEvent } from '../schedule/item-end.ts';

/** How a turn ended well. */
export interface TurnResult {
  readonly turnId: string;
  readonly text: string;
  readonly usage: Usage;
}

/** The events of one message until its turn has ended. `result` is the end alone, for those who need no more. */
export interface TurnStream extends AsyncIterable<TurnEvent> {
  readonly accepted: Promise<InboxReceipt>;
  /** Rejects with the code of the `error` event. */
  readonly result: Promise<TurnResult>;
}

export interface FollowOptions {
  readonly store: Store;
  readonly hub: Hub;
  readonly inboxSignal: InboxSignal;
  readonly clock: Clock;
  /** The id of the session, or of the message, whose events may belong to the message. */
  readonly about: string;
  readonly accept: () => Promise<InboxReceipt>;
  /** Runs the session here, unless another process does. */
  readonly run: (receipt: InboxReceipt) => Promise<void>;
  /** Aborts when this process will not learn of the end any more. */
  readonly closed: AbortSignal;
}

export interface TurnStreamOptions extends FollowOptions {
  readonly stop: (receipt: InboxReceipt) => Promise<void>;
  readonly signal: AbortSignal | undefined;
}

/** Between two looks at the row when no change was reported: a runner that died reports nothing. */
const LOOK_MS = 1000;
/** The hub is usually faster than the row; this lets it report the same end with all its events. */
const GRACE_MS = 200;
/** Without a fixed reason each abort creates an exception with a stack, which is never read. */
const OVER = 'over';

/** Starts at once, with or without a reader: a turn does not depend on its listeners. */
export function startTurn(options: TurnStreamOptions): TurnStream {
  const { stop, signal } = options;
  const events = new EventLog();
  const { accepted, end } = follow(options, (event) => events.push(event));
  const onAbort = (): void => void accepted.then(stop).catch(() => undefined); // not stopped: it ends as it ends
  signal?.addEventListener('abort', onAbort, { once: true });
  if (signal?.aborted === true) onAbort();
  const finish = (): void => {
    signal?.removeEventListener('abort', onAbort);
    events.end();
  };
  end.then(finish, finish);
  const result = end.then(resultOf);
  result.catch(() => undefined); // the events report it, and a caller that awaits it gets it again
  return { accepted, result, [Symbol.asyncIterator]: () => events.read(accepted) };
}

/** How an accepted message ends, in any process. Nothing else of its turn is kept in memory. */
export async function awaitEnd(options: FollowOptions): Promise<TurnEndEvent> {
  return follow(options, () => undefined).end;
}

function resultOf(end: TurnEndEvent): TurnResult {
  if (end.type === 'error') {
    const { code, message, why, details } = end;
    throw new RepriseError(code, message, { why, details });
  }
  const { turnId, text, usage } = end;
  return { turnId, text, usage };
}

interface Followed {
  readonly accepted: Promise<InboxReceipt>;
  readonly end: Promise<TurnEndEvent>;
}

/** The one way to follow a message: from its acceptance to its end, in whichever process it runs. */
function follow(options: FollowOptions, emit: (event: TurnEvent) => void): Followed {
  const { hub, about } = options;
  const heard = new HeardEvents(emit);
  // Before the message is accepted: another sender's run may take it up and answer at once.
  const leave = hub.follow(about, (event) => heard.take(event));
  const accepted = options.accept();
  accepted.catch(() => undefined); // `end` rejects with the same
  const end = untilEnd(options, accepted, heard).finally(leave);
  end.catch(() => undefined); // reported by whatever the caller makes of it
  return { accepted, end };
}

async function untilEnd(
  options: FollowOptions,
  accepting: Promise<InboxReceipt>,
  heard: HeardEvents,
): Promise<TurnEndEvent> {
  const { store, run, closed } = options;
  const receipt = await accepting;
  heard.emit({ type: 'accepted' });
  if (receipt.held) await tellPlace(store, receipt, heard);
  const poll = new AbortController();
  try {
    const here = heard.of(receipt.inboxId);
    // One that was accepted before may have ended before: no event reports that any more.
    if (!receipt.fresh && !heard.runsHere) {
      const item = await ended(store, receipt.inboxId).catch(() => undefined); // looked at again below
      if (item !== undefined && !isOpen(item) && !heard.runsHere) return heard.end(endOf(item));
    }
    const runHere = (): void => void run(receipt).catch(() => undefined); // what goes wrong is an event or a state of the row
    runHere();
    const tellEntries = receipt.held ? await entryTeller(store, receipt, heard) : async () => undefined;
    const elsewhere = watchEnd(options, receipt, {
      signal: poll.signal,
      onOpen: runHere,
      onLook: tellEntries,
      isTold: () => heard.runsHere,
    });
    return heard.end(await Promise.race([here, elsewhere, whenClosed(closed, poll.signal, receipt)]));
  } catch (error) {
    // A look that found the store closed says less than that this engine is.
    throw closed.aborted && isClosedStore(error) ? closedError(receipt) : error;
  } finally {
    poll.abort(OVER);
  }
}

/** The events of one message, out of those of its session. Which message it is may be known only later. */
class HeardEvents {
  readonly emit: (event: TurnEvent) => void;
  readonly #end = Promise.withResolvers<TurnEndEvent>();
  /** Of the session, while it is not known which message they should be about. */
  #early: SessionEvent[] = [];
  #inboxId: string | undefined;
  #runsHere = false;
  #hasEnded = false;

  constructor(emit: (event: TurnEvent) => void) {
    this.emit = emit;
  }

  /** A turn of this process answers it: the hub reports everything. */
  get runsHere(): boolean {
    return this.#runsHere;
  }

  take(published: SessionEvent): void {
    const { inboxId, event } = published;
    if (this.#inboxId === undefined) this.#early.push(published);
    else if (inboxId === this.#inboxId && !this.#hasEnded) {
      this.#runsHere ||= event.type === 'turn_start';
      if (isTerminal(event)) this.#end.resolve(this.end(event));
      else this.emit(event);
    }
  }

  /** Resolves with the end of the message, if this process runs it. */
  of(inboxId: string): Promise<TurnEndEvent> {
    this.#inboxId = inboxId;
    for (const event of this.#early.splice(0)) this.take(event);
    return this.#end.promise;
  }

  /** Emits the end once, however many ways report it. */
  end(event: TurnEndEvent): TurnEndEvent {
    if (!this.#hasEnded) this.emit(event);
    this.#hasEnded = true;
    return event;
  }
}

/** The message is accepted and will be answered, but not while this engine is open. */
function whenClosed(closed: AbortSignal, over: AbortSignal, receipt: InboxReceipt): Promise<never> {
  return new Promise((_, reject) => {
    const fail = (): void => reject(closedError(receipt));
    if (closed.aborted) fail();
    else closed.addEventListener('abort', fail, { once: true, signal: over });
  });
}

function closedError({ inboxId }: InboxReceipt): RepriseError {
  return failure(
    'STORE_FAILED',
    'engine.closedEarly',
    { inboxId },
    { outcome: 'unknown', details: { inboxId } },
  );
}

function isClosedStore(error: unknown): boolean {
  return error instanceof RepriseError && error.code === 'STORE_FAILED';
}

/** Events of entries that another process stores for a turn; those of a turn that runs here come from the hub. */
async function entryTeller(
  store: Store,
  { sessionId }: InboxReceipt,
  heard: HeardEvents,
): Promise<() => Promise<void>> {
  let { lastSeq: seen } = await store.get(sessionId);
  return async () => {
    if (heard.runsHere) return;
    const page = await store.read(sessionId, { from: seen + 1 }).catch(() => undefined); // the next look sees it
    for (const { seq, entry } of page?.entries ?? []) {
      seen = seq;
      heard.emit({ type: 'entry', seq, entryType: entry.type });
    }
  };
}

interface WatchEndOptions {
  readonly signal: AbortSignal;
  readonly onOpen: () => void;
  readonly onLook: () => Promise<void>;
  /** Whether events of this process report everything; polling is needed only if they do not. */
  readonly isTold: () => boolean;
}

/**
 * The row holds the end, whichever process ran it. While it is open its runner may have died, so each poll offers to run
 * it here: that does nothing as long as another process holds the session.
 */
async function watchEnd(
  { store, inboxSignal, clock }: Pick<FollowOptions, 'store' | 'inboxSignal' | 'clock'>,
  { inboxId, sessionId }: InboxReceipt,
  { signal, onOpen, onLook, isTold }: WatchEndOptions,
): Promise<TurnEndEvent> {
  // This row, and the one of the message that it is answered with.
  const rows = new Set([inboxId]);
  const isEnd = (change: InboxChange): boolean => rows.has(change.inboxId) && !isOpen(change);
  for (;;) {
    const look = new AbortController();
    const either = AbortSignal.any([signal, look.signal]);
    const change = isTold() ? new Promise<void>(() => undefined) : inboxSignal.wait(sessionId, either, isEnd);
    await Promise.race([change, pause(clock, LOOK_MS, either)]);
    look.abort(OVER);
    if (signal.aborted) return await new Promise<never>(() => undefined);
    const item = await ended(store, inboxId).catch(() => undefined); // asked again: a store may be busy
    if (item === undefined) continue;
    rows.add(item.inboxId);
    await onLook();
    if (isOpen(item)) {
      onOpen();
      continue;
    }
    await pause(clock, GRACE_MS, signal);
    return endOf(item);
  }
}

/** How many are before it. If it runs next, no event is emitted. */
async function tellPlace(
  store: Store,
  { inboxId, sessionId }: InboxReceipt,
  heard: HeardEvents,
): Promise<void> {
  const open = await store.inbox.pending(sessionId).catch(() => []); // the position is only a courtesy
  const position = open.findIndex((item) => item.inboxId === inboxId);
  if (position > 0) heard.emit({ type: 'queued', position });
}

/** Everything that happened, for readers that come at any time. */
class EventLog {
  readonly #events: TurnEvent[] = [];
  #waiting: (() => void)[] = [];
  #ended = false;

  push(event: TurnEvent): void {
    this.#events.push(event);
    this.#wake();
  }

  end(): void {
    this.#ended = true;
    this.#wake();
  }

  async *read(accepted: Promise<unknown>): AsyncGenerator<TurnEvent, void, undefined> {
    await accepted; // throws what kept the message from being accepted
    for (let at = 0; ; ) {
      const event = this.#events[at];
      if (event !== undefined) {
        at++;
        yield event;
        if (isTerminal(event)) return;
      } else if (this.#ended) return;
      else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const wake of waiting) wake();
  }
}
