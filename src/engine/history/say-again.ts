import { createHash, randomUUID } from 'node:crypto';
import { roleOf, startsTurn } from '../../compaction/safe-cut.ts';
import { failure } from '../../messages/failure.ts';
import { loadBlobs } from '../../store/copy/load-blobs.ts';
import type { Inbound, InboxReceipt } from '../../store/port/inbox.ts';
import type { NewEntry, SessionRecord, Store } from '../../store/port/store.ts';
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
  /** A new text; unset: the same text. Images and notes stay. */
  readonly text?: string | undefined;
  /** The entry of the message to replace; unset: the last message. The entries after it stay as a branch. */
  readonly before?: string | undefined;
  /** Idempotency key of the request: a retry with it finds the result of the first attempt. */
  readonly idempotencyKey?: string | undefined;
  /** The channel of the request, if any: the answer is logged there. */
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
 * Undoes the last message, or moves before an earlier one, and accepts it again on a new branch, in one transaction:
 * after a crash, both have happened or neither, and a retry with the same key gets the message of the first attempt
 * (I-59). While other messages wait, it is queued after them and moves to its branch point when its turn starts,
 * because they were sent to the current branch.
 */
export async function sayAgain(place: SayAgainPlace, options: SayAgainOptions): Promise<InboxReceipt> {
  const { store, lane, record, queue } = place;
  const { idempotencyKey = randomUUID(), channel = 'library', text, before } = options;
  const { id: sessionId, sessionKey } = record;
  // The lookup uses the same key as messages do, so a key that was used for a message cannot be used here.
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
    // The previous holder of the session may have done it.
    const done = await known();
    if (done !== undefined) return done;
    const { input, stepBack, isHere } = await messageToSay(store, sessionId, before);
    const said = { ...input, ...(text !== undefined && { text }) };
    const message = { ...key, ...inboundOf(place, said, options), sessionId, digest };
    if (await isSpokenFor(store, sessionId)) {
      // It needs its own turn: it must not join a turn on the branch that it leaves.
      const { body, ...later } = inboundOf({ ...place, queue: { ...queue, mode: 'queue' } }, said, options);
      return store.inbox.receive({ ...message, ...later, body: { ...body, place: placeOf(stepBack) } });
    }
    // Nothing has to be undone.
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
    // No debounce: the user waits for this answer and sends nothing more.
    body: withTicket(body, { mode, debounceMs: 0, at: now.getTime() }),
    queue: { cap, drop },
    ...(message !== undefined && { log: inboundLine(message, sessionKey, now) }),
  };
}

interface MessageToSay {
  readonly input: UserInput;
  readonly stepBack: NewEntry;
  /** Whether the conversation is already at that position. */
  readonly isHere: boolean;
}

/** The message to resend, and the entry that moves before it. */
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
  // A note before the message stays in place.
  const { entry: stepBack, isHere } = branchMove(all, before, 'before');
  return { input: inputOf(await hydrated(said)), stepBack, isHere };
}

interface LastMessage {
  readonly said: Entry;
  /** The note that came with the message. */
  readonly own: Entry | undefined;
  readonly stepBack: NewEntry;
}

/**
 * The last message, and the entry that undoes it: only the message and its note. Entries before it, such as results
 * of children, were delivered once and stay (I-35).
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
