import { createHash, randomUUID } from 'node:crypto';
import { roleOf, startsTurn } from '../../compaction/safe-cut.ts';
import { failure } from '../../messages/failure.ts';
import { loadBlobs } from '../../store/copy/load-blobs.ts';
import type { Inbound, InboxReceipt, NewEntry, SessionRecord, Store } from '../../store/port/store.ts';
import { hydrateBlobs } from '../../transcript/blobs.ts';
import { contentText, readBlocks } from '../../transcript/content.ts';
import type { Entry } from '../../transcript/entry.ts';
import { isObject } from '../../transcript/json.ts';
import { pathEntries } from '../../transcript/tree.ts';
import { inboundLine } from '../admin/channel-log.ts';
import { bodyOf, isContextNote, originOf, type UserInput, withTicket } from '../intake/inbound.ts';
import { isSpokenFor, placeOf } from '../schedule/own-place.ts';
import type { SessionLane } from '../schedule/session-lane.ts';
import type { QueueSettings } from '../session-settings.ts';
import { readHistory } from './read-history.ts';
import { branchMove, leafBefore, undoStep } from './undo.ts';

export interface SayAgainOptions {
  /** In other words; unset: the same. Images and notes stay. */
  readonly text?: string | undefined;
  /** Which message, by its entry; unset: the last one. It is said in its place: what followed stays as a branch. */
  readonly before?: string | undefined;
  /** Of the request that asks for it: a second try with it finds the first. */
  readonly idempotencyKey?: string | undefined;
  /** Where it was asked for, if that was a channel: the answer is logged there. */
  readonly channel?: string | undefined;
}

export interface SayAgainPlace {
  readonly store: Store;
  readonly lane: SessionLane;
  readonly record: SessionRecord;
  readonly queue: QueueSettings;
  readonly now: Date;
}

/**
 * Takes the last message back, or goes before another one, and accepts it anew, on a branch of its own, in one transaction:
 * whatever dies meanwhile, both have happened or neither, and whoever asks again with the same key gets the message of the
 * first time (I-59). While other messages wait it is accepted behind them and goes there with its turn: they were said to
 * the branch that is left.
 */
export async function sayAgain(place: SayAgainPlace, options: SayAgainOptions): Promise<InboxReceipt> {
  const { store, lane, record, queue } = place;
  const { idempotencyKey = randomUUID(), channel = 'library', text, before } = options;
  const { id: sessionId, sessionKey } = record;
  // As keys of messages are kept: one that was used for a message is not free for this.
  const key = { sessionKey, source: channel, idempotencyKey: `key:${idempotencyKey}` };
  const digest = createHash('sha256')
    .update(JSON.stringify(['again', sessionId, text ?? null, ...(before === undefined ? [] : [before])]))
    .digest('hex');
  const known = async (): Promise<InboxReceipt | undefined> =>
    (await store.inbox.known(key)) === undefined
      ? undefined
      : store.inbox.receive({ ...key, sessionId, digest, body: {} });
  const first = await known();
  if (first !== undefined) return first;
  const fresh = await lane.run(async ({ epoch }) => {
    // Whoever had the session before may have done it.
    const done = await known();
    if (done !== undefined) return done;
    const { input, stepBack, isHere } = await messageToSay(store, sessionId, before);
    const said = { ...input, ...(text !== undefined && { text }) };
    const message = { ...key, ...inboundOf(place, said, options), sessionId, digest };
    if (await isSpokenFor(store, sessionId)) {
      // For a turn of its own: it must not join one on the branch it leaves.
      const { body, ...later } = inboundOf({ ...place, queue: { ...queue, mode: 'queue' } }, said, options);
      return store.inbox.receive({ ...message, ...later, body: { ...body, place: placeOf(stepBack) } });
    }
    // Nothing is to be taken back.
    if (isHere) return store.inbox.receive(message);
    await store.append(sessionId, [stepBack], { epoch, deliver: [message] });
    return undefined;
  });
  return fresh ?? { ...((await known()) as InboxReceipt), fresh: true };
}

function inboundOf(
  { record: { sessionKey }, queue: { mode, cap, drop }, now }: SayAgainPlace,
  input: UserInput,
  { channel }: SayAgainOptions,
): Pick<Inbound, 'body' | 'queue' | 'log'> {
  const message = channel === undefined ? undefined : { ...input, channel };
  const body = { ...bodyOf(input), ...(message !== undefined && { from: originOf(message) }) };
  return {
    // Nobody waits for a second sentence of whoever is at the keyboard.
    body: withTicket(body, { mode, debounceMs: 0, at: now.getTime() }),
    queue: { cap, drop },
    ...(message !== undefined && { log: inboundLine(message, sessionKey, now) }),
  };
}

interface MessageToSay {
  readonly input: UserInput;
  readonly stepBack: NewEntry;
  /** The conversation stands there already. */
  readonly isHere: boolean;
}

/** What was said, and the entry that goes back before it. */
async function messageToSay(
  store: Store,
  sessionId: string,
  before: string | undefined,
): Promise<MessageToSay> {
  const all = await readHistory(store, sessionId);
  const hydrated = async (said: Entry): Promise<Entry> =>
    hydrateBlobs([said], await loadBlobs(store, sessionId, [said]))[0] ?? said;
  if (before === undefined) {
    const { said, own, stepBack } = lastMessage(all);
    return { input: inputOf(await hydrated(said), own), stepBack, isHere: false };
  }
  const said = all.find(({ id }) => id === before);
  if (said === undefined || roleOf(said) !== 'user')
    throw failure('NOT_FOUND', 'entry.missing', { entry: before }, { details: { entry: before } });
  // A note that stood before it still does.
  const { entry: stepBack, isHere } = branchMove(all, before, 'before');
  return { input: inputOf(await hydrated(said)), stepBack, isHere };
}

interface LastMessage {
  readonly said: Entry;
  /** The note that came with it. */
  readonly own: Entry | undefined;
  readonly stepBack: NewEntry;
}

/**
 * What was said last, and the entry that takes it back: the message and the note that came with it, nothing else. What
 * stands before it, as results of children, was told once and stays (I-35).
 */
function lastMessage(all: readonly Entry[]): LastMessage {
  const step = undoStep(all);
  const path = pathEntries(all);
  const at = path.findLastIndex((entry) => roleOf(entry) === 'user');
  const said = path[at];
  if (step === undefined || said === undefined) throw failure('NOT_FOUND', 'session.empty');
  if (step.kind !== 'turn') throw failure('LEAF_MOVED', 'retry.afterStep', { what: step.kind });
  const last = path.findLast(startsTurn);
  if (last !== said) throw failure('LEAF_MOVED', 'retry.afterNote', { note: kindOf(last) });
  const before = path[at - 1];
  const own = before !== undefined && isContextNote(before) ? before : undefined;
  return { said, own, stepBack: leafBefore(all, path, own === undefined ? at : at - 1) };
}

function kindOf(note: Entry | undefined): string {
  return String(note?.['customType'] ?? note?.type);
}

/** The message as it was sent, so that sending it again stores the same. */
function inputOf({ message }: Entry, own?: Entry): UserInput {
  const content = isObject(message) ? message['content'] : '';
  const blocks = readBlocks(content);
  const images = blocks.flatMap((block) =>
    block.type === 'image' ? [{ data: block.data, mimeType: block.mimeType }] : [],
  );
  const text = blocks.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');
  const note = own === undefined ? '' : contentText(own['content']);
  return { text, ...(images.length > 0 && { images }), ...(note !== '' && { context: note }) };
}
