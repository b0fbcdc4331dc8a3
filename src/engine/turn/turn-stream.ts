import { RepriseError } from '../../errors.ts';
import { failure } from '../../messages/failure.ts';
import type { InboxReceipt, Store } from '../../store/port/store.ts';
import type { Usage } from '../../transcript/entry.ts';
import { type Clock, pause } from '../clock.ts';
import { isTerminal, type TurnEvent } from '../events.ts';
import type { Hub, Subscription } from '../hub.ts';
import type { InboxNews } from '../schedule/inbox-news.ts';
import { answeredBy, ended, endOf, isOpen, type TurnEndEvent } from '../schedule/item-end.ts';

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

export interface TurnStreamOptions {
  readonly store: Store;
  readonly hub: Hub;
  readonly news: InboxNews;
  readonly clock: Clock;
  readonly accept: () => Promise<InboxReceipt>;
  /** Runs the session here, if nobody else does. */
  readonly run: (receipt: InboxReceipt) => Promise<void>;
  readonly stop: (receipt: InboxReceipt) => Promise<void>;
  readonly signal: AbortSignal | undefined;
  /** Aborts when this process will hear of no end any more. */
  readonly closed: AbortSignal;
}

/** Between two looks when nobody tells of a change: a runner that died says nothing. */
const LOOK_MS = 1000;
/** Here the hub is faster by nature; a moment's grace lets it say the same with all its events. */
const GRACE_MS = 200;
/** Without a reason of its own each abort makes an exception that nobody reads, with a stack. */
const OVER = 'over';

/** Starts at once, whether or not anybody reads: a turn does not depend on its listeners. */
export function startTurn(options: TurnStreamOptions): TurnStream {
  const { hub } = options;
  // Before the message is accepted: another sender's run may take it up and answer at once.
  const subscription = hub.subscribe(() => true);
  const accepted = options.accept();
  const events = new EventLog();
  const result = follow(options, accepted, subscription, events);
  result.catch(() => undefined); // whoever reads the events has been told; whoever awaits it is told again
  accepted.catch(() => undefined);
  return {
    accepted,
    result,
    [Symbol.asyncIterator]: () => events.read(accepted),
  };
}

async function follow(
  options: TurnStreamOptions,
  accepting: Promise<InboxReceipt>,
  subscription: Subscription,
  events: EventLog,
): Promise<TurnResult> {
  const { store, run, stop, signal, closed } = options;
  const receipt = await accepting.catch((error: unknown) => {
    subscription.close();
    events.end();
    throw error;
  });
  events.push({ type: 'accepted' });
  if (receipt.held) await tellPlace(store, receipt, events);
  const onAbort = (): void => void stop(receipt).catch(() => undefined); // then it is not stopped, and ends as it ends
  signal?.addEventListener('abort', onAbort, { once: true });
  if (signal?.aborted === true) onAbort();
  const poll = new AbortController();
  try {
    const here = listen(subscription, receipt.inboxId, events);
    const runHere = (): void => void run(receipt).catch(() => undefined); // what goes wrong is an event or a state of the row
    runHere();
    const tellEntries = receipt.held ? await entryTeller(store, receipt, events) : async () => undefined;
    const elsewhere = watchEnd(options, receipt, {
      signal: poll.signal,
      onOpen: runHere,
      onLook: tellEntries,
      isTold: () => events.runsHere,
    });
    const end = await Promise.race([here, elsewhere, whenClosed(closed, poll.signal, receipt)]);
    if (!events.hasEnded) events.push(end);
    if (end.type === 'error') {
      const { code, message, why, details } = end;
      throw new RepriseError(code, message, { why, details });
    }
    const { turnId, text, usage } = end;
    return { turnId, text, usage };
  } catch (error) {
    // A look that found the store closed says less than that this engine is.
    throw closed.aborted && isClosedStore(error) ? closedError(receipt) : error;
  } finally {
    poll.abort(OVER);
    signal?.removeEventListener('abort', onAbort);
    subscription.close();
    events.end();
  }
}

async function listen(subscription: Subscription, inboxId: string, events: EventLog): Promise<TurnEndEvent> {
  for await (const { inboxId: about, event } of subscription) {
    if (about !== inboxId) continue;
    events.push(event);
    if (isTerminal(event)) return event;
  }
  return await new Promise<never>(() => undefined); // closed: the poll has told the end
}

/** How an accepted message ends, whoever runs it. Nothing else of its turn is kept. */
export async function awaitEnd(
  options: Omit<TurnStreamOptions, 'accept' | 'stop'>,
  inboxId: string,
): Promise<TurnEndEvent> {
  const { store, hub, run, signal, closed } = options;
  let isTold = false;
  const subscription = hub.subscribe(({ inboxId: about, event }) => {
    if (about !== inboxId) return false;
    isTold ||= event.type === 'turn_start';
    return isTerminal(event);
  });
  const over = new AbortController();
  try {
    const own = await store.inbox.get(inboxId);
    const { sessionId, sessionKey } = own;
    const receipt = { inboxId, sessionId, sessionKey, fresh: false, held: false, dropped: [] };
    const item = await answeredBy(store, own);
    if (!isOpen(item)) return endOf(item);
    const runHere = (): void => void run(receipt).catch(() => undefined); // what goes wrong is a state of the row
    runHere();
    return await Promise.race([
      firstEnd(subscription),
      watchEnd(options, receipt, {
        signal: over.signal,
        onOpen: runHere,
        onLook: async () => undefined,
        isTold: () => isTold,
      }),
      whenClosed(signal === undefined ? closed : AbortSignal.any([closed, signal]), over.signal, receipt),
    ]);
  } finally {
    over.abort(OVER);
    subscription.close();
  }
}

async function firstEnd(subscription: Subscription): Promise<TurnEndEvent> {
  for await (const { event } of subscription) if (isTerminal(event)) return event;
  return await new Promise<never>(() => undefined); // closed: somebody else has told the end
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

/** What another process stores for a turn is told here too; of one that runs here the hub tells all. */
async function entryTeller(
  store: Store,
  { sessionId }: InboxReceipt,
  events: EventLog,
): Promise<() => Promise<void>> {
  let { lastSeq: seen } = await store.get(sessionId);
  return async () => {
    if (events.runsHere) return;
    const page = await store.read(sessionId, { from: seen + 1 }).catch(() => undefined); // the next look sees it
    for (const { seq, entry } of page?.entries ?? []) {
      seen = seq;
      events.push({ type: 'entry', seq, entryType: entry.type });
    }
  };
}

interface WatchEndOptions {
  readonly signal: AbortSignal;
  readonly onOpen: () => void;
  readonly onLook: () => Promise<void>;
  /** The events of this process tell it all: a look is needed only in case they do not. */
  readonly isTold: () => boolean;
}

/**
 * The row tells the end whoever runs it, in this process or another. While it is open its runner may have died, so
 * each look offers to run it here: that comes to nothing as long as somebody else holds the session.
 */
async function watchEnd(
  { store, news, clock }: Pick<TurnStreamOptions, 'store' | 'news' | 'clock'>,
  { inboxId, sessionId }: InboxReceipt,
  { signal, onOpen, onLook, isTold }: WatchEndOptions,
): Promise<TurnEndEvent> {
  for (;;) {
    const look = new AbortController();
    const either = AbortSignal.any([signal, look.signal]);
    const change = isTold() ? new Promise<void>(() => undefined) : news.next(sessionId, either);
    await Promise.race([change, pause(clock, LOOK_MS, either)]);
    look.abort(OVER);
    if (signal.aborted) return await new Promise<never>(() => undefined);
    const item = await ended(store, inboxId).catch(() => undefined); // asked again: a store may be busy
    if (item === undefined) continue;
    await onLook();
    if (isOpen(item)) {
      onOpen();
      continue;
    }
    await pause(clock, GRACE_MS, signal);
    return endOf(item);
  }
}

/** How many are before it; where it is known to run next, nothing is told. */
async function tellPlace(
  store: Store,
  { inboxId, sessionId }: InboxReceipt,
  events: EventLog,
): Promise<void> {
  const open = await store.inbox.pending(sessionId).catch(() => []); // only told to be kind
  const position = open.findIndex((item) => item.inboxId === inboxId);
  if (position > 0) events.push({ type: 'queued', position });
}

/** Everything that happened, for readers that come at any time. */
class EventLog {
  readonly #events: TurnEvent[] = [];
  #waiting: (() => void)[] = [];
  #ended = false;
  #runsHere = false;

  get hasEnded(): boolean {
    const last = this.#events.at(-1);
    return last !== undefined && isTerminal(last);
  }

  get runsHere(): boolean {
    return this.#runsHere;
  }

  push(event: TurnEvent): void {
    if (event.type === 'turn_start') this.#runsHere = true;
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
