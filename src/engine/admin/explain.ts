import { isDeepStrictEqual } from 'node:util';
import { roleOf, startsTurn } from '../../compaction/safe-cut.ts';
import { RepriseError } from '../../errors.ts';
import { messageText } from '../../messages/english.ts';
import { failure } from '../../messages/failure.ts';
import { message } from '../../messages/message.ts';
import type { CacheBreak } from '../../messages/params/params-commands.ts';
import type { ModelRequest } from '../../models/model.ts';
import type { Inbox, InboxItem, InboxState } from '../../store/port/inbox.ts';
import { customData, type Entry } from '../../transcript/entry.ts';
import { isObject, type JsonObject } from '../../transcript/json.ts';
import { type MessagePositions, messagePositions } from '../../transcript/message-position.ts';
import { entriesOf } from '../intake/inbound.ts';
import type { CallManifest } from '../turn/manifest.ts';
import { requestHash } from '../turn/request-hash.ts';
import { makeView, type RequestFrame } from '../turn/turn-context.ts';

export interface ExplainedCall extends CallManifest {
  /** The request, rebuilt from the history. */
  readonly request: ModelRequest;
  /**
   * Whether the rebuilt request is byte for byte what was sent. If not, the system prompt, the tools, the model or
   * the profile have changed since, or the profile does not store tool results.
   */
  readonly verified: boolean;
  /** Whether this request starts with the whole previous one, so that a prompt cache can serve it. */
  readonly extendsPrevious: boolean;
  /** Why it does not, in English and as a code. */
  readonly cacheBreak?: string;
  readonly cacheBreakCode?: CacheBreak;
}

/** A message that a turn answers, and its source. */
export interface ExplainedMessage {
  /** The id of its inbox row. */
  readonly inboxId: string;
  readonly state?: InboxState;
  /** The row of the message that led the turn; unset for that message. */
  readonly mergedInto?: string;
  readonly channel?: string;
  readonly sender?: { readonly id: string; readonly name?: string };
  /** The entry that stores it, and its position in the current branch. */
  readonly entryId?: string;
  readonly position?: number;
  /** Rows that were dropped from a full queue and that this message summarizes. */
  readonly carries?: readonly string[];
}

/** What the model saw in one turn, with proof. */
export interface Explanation {
  readonly turnId: string;
  readonly status: string;
  /** The messages that the turn answers, in order; several if messages were steered or collected into it. */
  readonly messages: readonly ExplainedMessage[];
  readonly calls: readonly ExplainedCall[];
  readonly data: JsonObject;
}

export async function explainTurn(
  all: readonly Entry[],
  {
    frame,
    turnId,
    inbox,
  }: {
    readonly frame: RequestFrame;
    readonly turnId: string | undefined;
    readonly inbox: Pick<Inbox, 'get'>;
  },
): Promise<Explanation> {
  const turns = all.map((entry) => customData(entry, 'reprise.turn')).filter((data) => data !== undefined);
  const at = turnId === undefined ? turns.length - 1 : turns.findIndex((data) => data['turnId'] === turnId);
  const data = turns[at];
  if (data === undefined)
    throw turnId === undefined
      ? failure('NOT_FOUND', 'turn.none')
      : failure('NOT_FOUND', 'turn.missing', { turn: turnId, turns: turns.length });
  const last = manifests(turns[at - 1]).at(-1);
  let before = last === undefined ? undefined : { ...last, leaf: storedLeaf(all, last, turns[at - 1]) };
  const calls = manifests(data).map((made): ExplainedCall => {
    const manifest = { ...made, leaf: storedLeaf(all, made, data) };
    const request = rebuild(all, manifest, frame);
    const previous = before;
    before = manifest;
    return {
      ...manifest,
      request,
      verified: requestHash(request) === manifest.hash,
      ...prefixReport(all, previous, manifest, frame, request),
    };
  });
  const messages = await messagesOf(all, data, inbox);
  return {
    turnId: String(data['turnId'] ?? ''),
    status: String(data['status'] ?? ''),
    messages,
    calls,
    data,
  };
}

/**
 * Finds the messages through the end of the turn and through the keys of its entries: after a crash, the runner that
 * continues a turn does not know the messages that had joined it.
 */
async function messagesOf(
  all: readonly Entry[],
  data: JsonObject,
  inbox: Pick<Inbox, 'get'>,
): Promise<ExplainedMessage[]> {
  const lead = String(data['inboxId'] ?? '');
  const end = all.findIndex((entry) => entry['data'] === data);
  const start = all.slice(0, end).findLastIndex((entry) => isEndOfOther(entry, lead)) + 1;
  const asked = all.slice(start, end).filter(startsTurn);
  const merged = Array.isArray(data['merged']) ? data['merged'].map(String) : [];
  const ids = new Set([lead, ...merged, ...asked.flatMap(({ seal }) => seal?.k ?? [])]);
  const rows = await Promise.all([...ids].map((inboxId) => findRow(inbox, inboxId)));
  const positions = messagePositions(all);
  return rows
    .filter((row) => row !== undefined)
    .filter(({ inboxId, detail }) => inboxId === lead || detail?.['mergedInto'] === lead)
    .map((row) => ({ row, at: asked.findLastIndex((entry) => isStoredAs(row, entry)) }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ row, at }) => explainMessage(row, asked[at], positions));
}

/** @returns `undefined` if the key is not that of a message, and for an imported turn. */
async function findRow(inbox: Pick<Inbox, 'get'>, inboxId: string): Promise<InboxItem | undefined> {
  try {
    return await inbox.get(inboxId);
  } catch (error) {
    if (error instanceof RepriseError && error.code === 'NOT_FOUND') return undefined;
    throw error;
  }
}

function isEndOfOther(entry: Entry, inboxId: string): boolean {
  const turn = customData(entry, 'reprise.turn');
  return turn !== undefined && turn['inboxId'] !== inboxId;
}

/** A turn that is written at its end is a single append without keys, but a row always results in the same entry. */
function isStoredAs(row: InboxItem, { seal, message }: Entry): boolean {
  if (seal?.k !== undefined) return seal.k === row.inboxId;
  return entriesOf(row).some((entry) => isDeepStrictEqual(entry['message'], message));
}

function explainMessage(
  { inboxId, state, body, detail, carries = [] }: InboxItem,
  entry: Entry | undefined,
  positions: MessagePositions,
): ExplainedMessage {
  const { channel, sender } = isObject(body['from']) ? body['from'] : {};
  const position = entry === undefined ? undefined : positions.of(entry.id);
  return {
    inboxId,
    state,
    ...(typeof detail?.['mergedInto'] === 'string' && { mergedInto: detail['mergedInto'] }),
    ...(typeof channel === 'string' && { channel }),
    ...(isObject(sender) && { sender: { id: String(sender['id']), ...nameIn(sender) } }),
    ...(entry !== undefined && { entryId: entry.id }),
    ...(position !== undefined && { position }),
    ...(carries.length > 0 && { carries }),
  };
}

function nameIn({ name }: JsonObject): { readonly name?: string } {
  return typeof name === 'string' && name !== '' ? { name } : {};
}

function manifests(data: JsonObject | undefined): CallManifest[] {
  const calls = data?.['calls'];
  return Array.isArray(calls) ? (calls as CallManifest[]) : [];
}

/**
 * The entry at which a request was made. If the turn was written only at its end, that entry never had an id; the
 * message that it answered is the nearest one.
 */
function storedLeaf(
  all: readonly Entry[],
  { leaf }: CallManifest,
  turn: JsonObject | undefined,
): string | null {
  if (leaf === null || all.some(({ id }) => id === leaf)) return leaf;
  const end = all.findIndex(({ data }) => data === turn);
  const asked = all.slice(0, end).findLast((entry) => roleOf(entry) === 'user');
  return asked?.id ?? null;
}

function rebuild(
  all: readonly Entry[],
  { leaf, strict, historyTurns }: CallManifest,
  frame: RequestFrame,
): ModelRequest {
  return makeView(all, { ...frame, strict: strict === true, historyTurns }, { leaf }).request;
}

function prefixReport(
  all: readonly Entry[],
  previous: CallManifest | undefined,
  current: CallManifest,
  frame: RequestFrame,
  { messages }: ModelRequest,
): Pick<ExplainedCall, 'extendsPrevious' | 'cacheBreak' | 'cacheBreakCode'> {
  if (previous === undefined) return broken('firstRequest');
  const earlier = rebuild(all, previous, frame).messages;
  const isPrefix = earlier.every((message, i) => JSON.stringify(message) === JSON.stringify(messages[i]));
  if (isPrefix) return { extendsPrevious: true };
  if (previous.compaction !== current.compaction) return broken('compaction');
  if (previous.edits !== current.edits) return broken('toolResults');
  if (previous.strict !== current.strict) return broken('stricter');
  if (previous.model !== current.model) return broken('model');
  if (current.historyTurns !== undefined && previous.firstEntry !== current.firstEntry)
    return broken('historyTurns');
  return broken('branch');
}

function broken(cause: CacheBreak): Pick<ExplainedCall, 'extendsPrevious' | 'cacheBreak' | 'cacheBreakCode'> {
  return {
    extendsPrevious: false,
    cacheBreak: messageText(message('cacheBreak', { cause })),
    cacheBreakCode: cause,
  };
}
