import { RepriseError } from '../../errors.ts';
import { resolveThreadParentSessionKey } from '../../keys/predicates.ts';
import { failure } from '../../messages/failure.ts';
import { whyOf } from '../../messages/message.ts';
import type { InboxItem } from '../../store/port/inbox.ts';
import type { Lease, SessionRecord } from '../../store/port/store.ts';
import type { BegunTurn } from '../../store/port/turns.ts';
import { replyLine } from '../admin/channel-log.ts';
import { NO_USAGE } from '../admin/totals.ts';
import type { ModelInUse } from '../agents/session-models.ts';
import { deliver } from '../deliver.ts';
import type { EngineContext } from '../engine-context.ts';
import type { TurnEvent } from '../events.ts';
import { senderOf } from '../intake/inbound.ts';
import { forkThread } from '../intake/thread-fork.ts';
import { goToPlace } from '../schedule/own-place.ts';
import { joinable, type NextTurn, saidBefore } from '../schedule/queue.ts';
import { keep, keptAnswer, recount, writeKept } from '../schedule/refused-try.ts';
import type { RoomWait } from '../schedule/room-wait.ts';
import type { SessionRunner } from '../schedule/session-runner.ts';
import { responseUsageOf } from '../session-settings.ts';
import type { Tool } from '../tools/tool.ts';
import type { TurnBasis } from '../window/background-compaction.ts';
import { itemEntries, join, leftBehind } from './join-turn.ts';
import { endEntry, endOf, inspectTurn, whyNot } from './recovery.ts';
import type { RunningTurn } from './running-turn.ts';
import { isTold } from './told.ts';
import { Turn, type TurnEnd, type WriteAnswer } from './turn.ts';
import {
  errorEvent,
  fullStore,
  isFenced,
  settlementOf,
  type TurnEnding,
  type TurnOutcome,
  unexpected,
} from './turn-outcome.ts';
import { withTurnSettings } from './turn-settings.ts';
import { openTurnStore, type TurnStore } from './turn-store.ts';
import { usageMessage } from './usage-line.ts';

export interface ItemRun {
  readonly context: EngineContext;
  readonly runner: SessionRunner;
  readonly turn: RunningTurn;
  readonly lease: Lease;
  readonly room: RoomWait;
  readonly begun: BegunTurn;
}

/** Messages that are answered by the same turn, said before the one that leads it and after. */
export type Company = Pick<NextTurn, 'before' | 'after'>;

/** From a message that was taken to the end of its row, whatever happens between (I-28). */
export async function runItem(run: ItemRun, next: Company, known: KnownRows): Promise<void> {
  const { context, runner, turn, lease, room } = run;
  let isSaid = false;
  let unwritten: WriteAnswer | undefined;
  let basis: TurnBasis | undefined;
  const on: AnswerNews = {
    said: () => {
      isSaid = true;
    },
    unwritten: (answered) => {
      unwritten = answered;
    },
    began: (said) => {
      basis = said;
    },
  };
  try {
    unwritten = await keptAnswer(run);
    const end = await (unwritten === undefined ? answer(run, next, known, on) : writeKept(run, unwritten));
    if (!turn.isWritten) await settle(run, { end });
    turn.emit({ type: 'done', ...end });
    runner.background.consider(end.tokenEstimate, basis);
  } catch (error) {
    const failure = error instanceof RepriseError ? error : unexpected(error);
    // Whoever took over tells how it ends. An append may be refused before the lease is known to be lost.
    if (lease.signal.aborted || isFenced(failure)) throw lost(failure);
    // Accepted, and no room to say it: a row is smaller than its words and might end without them. It stays open and is
    // tried again, so this is no end for anybody who follows it.
    const full = isSaid || turn.isStopped ? undefined : fullStore(failure);
    if (full !== undefined) {
      const { attempt, delayMs } = room.refuse(turn.members);
      if (unwritten !== undefined) await keep(run, unwritten);
      await recount(run);
      turn.emit({ type: 'retry', attempt, delayMs, reason: full.message, why: whyOf(full) });
      throw full;
    }
    if (!turn.isWritten) await settle(run, { error: failure });
    turn.emit(errorEvent(failure));
  }
  room.end();
  const { isRetry } = turn;
  for (const item of turn.members) await context.options.afterItem(item, { isRetry });
}

/** The rows from which the turn was chosen, if nothing else has changed since. */
export type KnownRows = () => readonly InboxItem[] | undefined;

/** What is heard of a turn before it ends. */
interface AnswerNews {
  /** What it answers is stored. */
  readonly said: () => void;
  /** The answer is whole and could not be written. */
  readonly unwritten: (write: WriteAnswer) => void;
  readonly began: (basis: TurnBasis) => void;
}

/** A turn whose words are stored, with what it is answered with. */
interface SaidTurn extends TurnBasis {
  readonly turnStore: TurnStore;
  /** The last entry that stands before its answer. */
  readonly seq: number;
}

async function answer(run: ItemRun, company: Company, known: KnownRows, on: AnswerNews): Promise<TurnEnd> {
  const said = await say(run, company, on);
  return 'turnStore' in said ? await ask(run, said, known, on) : said;
}

/** Stores what was said, before any model is asked. Answers with the end where that was all, or a try before had one. */
async function say(run: ItemRun, { before, after }: Company, on: AnswerNews): Promise<SaidTurn | TurnEnd> {
  const { context, runner, turn, lease, room, begun } = run;
  const { store } = context;
  const { lead, turnId, isRetry } = turn;
  const { sessionId } = runner;
  const record = withTurnSettings(begun.record, lead);
  const isBegun = begun.receipts.length > 0;
  if (isBegun) on.said();
  else await forkIfThread(run, record);
  // A turn that is stopped meanwhile goes on to where it stores what was said, and ends before a model is asked.
  const frame = await runner.frame(record, turn.signal);
  const turnStore = openTurnStore({
    store,
    sessionId,
    profile: frame.profile,
    inboxId: lead.inboxId,
    isRetry,
    tools: frame.toolsByName,
    onStored: on.said,
  });
  const isSilent = lead.body['silent'] === true;
  const first = isSilent ? store : turnStore;
  let { lastSeq } = record;
  if (isBegun) for (const item of before) turn.add(item);
  else {
    for (const item of before) await join(run, item, turnStore);
    await goToPlace(store, lead, record, lease.epoch);
    // Durable before any model is called (T57). With the message's own id as key a second try finds the first.
    ({ lastSeq } = await first.append(sessionId, await itemEntries(context, lead), {
      key: lead.inboxId,
      epoch: lease.epoch,
    }));
    if (first === store) on.said();
  }
  if (isSilent) return { turnId, text: '', usage: NO_USAGE, tokenEstimate: 0 };
  if (isBegun) for (const item of after) turn.add(item);
  else for (const item of after) await join(run, item, turnStore);
  // A turn that is written at its end had all of them when its runner died, and is the same turn now.
  if (isRetry && turnStore !== store) {
    const rows = await store.inbox.pending(sessionId);
    for (const item of leftBehind(rows, turn))
      for (const one of [...saidBefore(rows, item), item]) await join(run, one, turnStore);
  }
  if (isRetry) {
    // Words that were not there before this try are no turn that brings down whoever runs it: their runner died first.
    const isFirst = turnStore === store && lastSeq > record.lastSeq;
    const attempts = isFirst ? 1 : room.triesBefore(lead) + 1;
    const tries = { afterSeq: lastSeq, attempts, tools: frame.toolsByName };
    const ended = await recover(run, tries, turnStore, on.said);
    if (ended !== undefined) return ended;
  }
  // Those that joined have stored something since, or the try before this one.
  const isAlone = isBegun || (!isRetry && after.length === 0);
  const seq = isAlone ? lastSeq : (await store.get(sessionId)).lastSeq;
  return { record, frame, turnStore, seq };
}

async function ask(
  run: ItemRun,
  { record, frame: first, turnStore, seq }: SaidTurn,
  known: KnownRows,
  on: AnswerNews,
): Promise<TurnEnd> {
  const { context, runner, turn, lease } = run;
  const { store, options } = context;
  const { lead, turnId } = turn;
  const { sessionId } = runner;
  on.began({ record, frame: first });
  let frame = first;
  let isFirst = !turn.isRetry;
  const newcomers = (rows: readonly InboxItem[]): InboxItem[] =>
    leftBehind(rows, turn).length > 0 ? [] : joinable(rows);
  const { provider, id } = frame.model;
  turn.emit({ type: 'turn_start', turnId, model: `${provider}:${id}`, seq });
  const { fallbackFrom, name } = frame.inUse;
  if (fallbackFrom !== undefined) reportFallback(turn, fallbackFrom, name);
  const emit = (event: TurnEvent): void => {
    if (isTold(record.settings, event)) turn.emit(event);
    else turn.progress();
  };
  return await new Turn({
    store: turnStore,
    sessionId,
    sessionKey: record.sessionKey,
    agentId: record.agentId,
    user: senderOf(lead),
    turnId,
    inboxId: lead.inboxId,
    merged: () => turn.members.map(({ inboxId }) => inboxId).filter((id) => id !== lead.inboxId),
    lease,
    signal: turn.signal,
    emit,
    guard: runner.guard(record, () => frame.model, lease, turnStore, emit, turn.signal),
    frame: () => ({ ...frame, calibration: context.calibration(frame.model) }),
    window: () => context.usableWindow(frame.model, record),
    tools: frame.toolsByName,
    maxSteps: options.maxSteps,
    onUsage: (estimated, usage) => context.learnUsage(frame.model, estimated, usage),
    useOtherModel: async (error) => {
      if (frame.inUse.from !== 'session') return false;
      const wanted = frame.inUse.name;
      const other = await runner.frame(withoutModel(record), turn.signal);
      if (other.inUse.name === wanted) return false;
      frame = other;
      const fallbackFrom = { model: wanted, reason: error.message, why: whyOf(error) };
      reportFallback(turn, fallbackFrom, frame.inUse.name);
      return true;
    },
    atBoundary: async () => {
      // Nothing has changed since the turn was chosen but what the turn itself did: its rows need not be read again.
      const seen = isFirst ? known() : undefined;
      isFirst = false;
      const rows =
        seen?.filter(({ inboxId }) => !turn.answers(inboxId)) ?? (await store.inbox.pending(sessionId));
      if (seen === undefined) turn.look(rows);
      if (turn.signal.aborted) return;
      for (const item of newcomers(rows)) await join(run, item, turnStore);
      await runner.background.commit(lease, emit);
    },
    isOvertaken: async () => {
      const rows = await store.inbox.pending(sessionId);
      turn.look(rows);
      return turn.signal.aborted || newcomers(rows).length > 0;
    },
    aside: (work) => turn.aside(work),
    usageMessage: (usage) => usageMessage(usage, undefined, responseUsageOf(record.settings)),
    ending: (outcome) => endingOf(run, outcome),
    mayRelease: () => runner.lane.isLast,
    onReleased: () => runner.lane.released(),
    onEnded: () => turn.written(),
    onUnwritten: on.unwritten,
  }).run();
}

function reportFallback(
  turn: RunningTurn,
  { model: wanted, ...cause }: NonNullable<ModelInUse['fallbackFrom']>,
  answering: string,
): void {
  turn.emit({ type: 'model_fallback', wanted, model: answering, ...cause });
}

/** As if the session had never named a model. */
function withoutModel(record: SessionRecord): SessionRecord {
  const { model: _, modelOverride: _id, providerOverride: _provider, ...settings } = record.settings;
  return { ...record, settings };
}

/** Before its first message, the session of a thread may begin with what was said where it hangs. */
async function forkIfThread({ context, lease }: ItemRun, record: SessionRecord): Promise<void> {
  const { fork = false, maxTokens } = context.options.threadsFor(record) ?? {};
  const parentKey = fork ? resolveThreadParentSessionKey(record.sessionKey) : null;
  if (parentKey === null) return;
  const { epoch } = lease;
  await forkThread(context.store, {
    record,
    parentKey,
    epoch,
    ...(maxTokens !== undefined && { maxTokens }),
  });
}

/** What there is to know of the tries before this one. */
interface TriesBefore {
  readonly afterSeq: number;
  /** With this one, those that count: they had said it, and did not end. */
  readonly attempts: number;
  readonly tools: ReadonlyMap<string, Tool>;
}

/** Answers with the end of a turn that had ended; throws where it must not go on. */
async function recover(
  { context, turn, lease }: ItemRun,
  { afterSeq, attempts, tools }: TriesBefore,
  turnStore: TurnStore,
  onSaid: () => void,
): Promise<TurnEnd | undefined> {
  const { store } = context;
  const { inboxId, sessionId } = turn.lead;
  const members = turn.members.map((item) => item.inboxId);
  const found = await inspectTurn(store, { sessionId, afterSeq, inboxId, members }, tools);
  // Looked at before the attempts are: a turn that had ended well did so, however often its row was not told.
  if (found.kind === 'ended') {
    onSaid();
    return endOf(found);
  }
  const failure = whyNot(found, attempts);
  const entries = [...found.results, ...(failure === undefined ? [] : [endEntry(inboxId, failure)])];
  if (entries.length > 0) await turnStore.append(sessionId, entries, { epoch: lease.epoch });
  if (failure !== undefined) throw failure;
  return undefined;
}

/** In one transaction with the last entry of the turn: nobody ever sees one without the other. */
function endingOf({ context, turn }: ItemRun, outcome: TurnOutcome): TurnEnding {
  const { lead } = turn;
  const deliver = context.options.deliveries(lead, outcome);
  const reply = 'end' in outcome ? replyLine(lead, replyText(outcome.end)) : undefined;
  return {
    settle: [settlementOf(lead, outcome)],
    ...(deliver.length > 0 && { deliver }),
    ...(reply !== undefined && { log: [reply] }),
  };
}

/** As it is said on a channel. */
function replyText({ text, usageLine: line }: TurnEnd): string {
  return line === undefined || text === '' ? text : `${text}\n\n${line}`;
}

/** Where the turn could not write its own end; a row that has ended stays as it is. */
async function settle({ context, turn }: ItemRun, outcome: TurnOutcome): Promise<void> {
  const { store } = context;
  const { inboxId, state, detail } = settlementOf(turn.lead, outcome);
  try {
    for (const inbound of context.options.deliveries(turn.lead, outcome)) await deliver(store, inbound);
    await store.inbox.settle(inboxId, state, detail);
  } catch (error) {
    // The row stays `running` and the transcript says how it ended: the next runner reads it there.
    if (!(error instanceof RepriseError)) throw error;
  }
}

function lost(cause: RepriseError): RepriseError {
  return failure('FENCED', 'turn.takenOver', {}, { cause });
}
