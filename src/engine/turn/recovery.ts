import { RepriseError } from '../../errors.ts';
import { failure } from '../../messages/failure.ts';
import { isMessage } from '../../messages/message.ts';
import type { NewEntry, Store, StoredEntry } from '../../store/port/store.ts';
import { answeredCall, callsOf, contentText } from '../../transcript/content.ts';
import { customData, type Entry } from '../../transcript/entry.ts';
import { isObject, type JsonObject } from '../../transcript/json.ts';
import type { ErrorEvent } from '../events.ts';
import { newestFirst } from '../history/read-history.ts';
import type { Tool } from '../tools/tool.ts';
import type { TurnEnd } from './turn.ts';
import { storedError } from './turn-outcome.ts';

/** What became of a turn whose runner died. The transcript decides, nothing else is asked. */
export type Recovery =
  /** It had ended; only its row was not told. */
  | { readonly kind: 'ended'; readonly status: string; readonly data: JsonObject; readonly text: string }
  /** Nothing that could do harm twice had begun: the model is asked again. `results` close what was left open. */
  | { readonly kind: 'resume'; readonly results: readonly NewEntry[] }
  /** A tool with side effects may have run: it is not run again. */
  | { readonly kind: 'interrupted'; readonly results: readonly NewEntry[] };

const PAGE = 500;
const MAX_ATTEMPTS = 3;

export async function inspectTurn(
  store: Store,
  {
    sessionId,
    afterSeq,
    inboxId,
    members,
  }: {
    readonly sessionId: string;
    readonly afterSeq: number;
    readonly inboxId: string;
    /** All it answers: any of them may have led it before. */
    readonly members: readonly string[];
  },
  tools: ReadonlyMap<string, Tool>,
): Promise<Recovery> {
  const entries = await readAfter(store, sessionId, afterSeq);
  const ended = entries.find((entry) => isTurnEnd(entry, inboxId));
  const data = ended?.['data'];
  if (isObject(data)) return { kind: 'ended', status: String(data['status']), data, text: lastText(entries) };
  const calls = entries.flatMap(callsOf);
  const answered = new Set(entries.map(answeredCall));
  const open = calls.filter(({ id }) => !answered.has(id));
  const results = open.map(({ id, name }) => interruptedResult(id, name));
  const isMarked = entries.some((entry) => members.includes(aboutMessage(entry, 'reprise.calls') ?? ''));
  const skipped = new Set(entries.filter(isSkipped).map(answeredCall));
  const isSafe = calls.every(({ id, name }) => skipped.has(id) || tools.get(name)?.safe === true);
  const isHarmless = !isMarked && isSafe;
  return isHarmless ? { kind: 'resume', results } : { kind: 'interrupted', results };
}

/** The end of a turn as its transcript tells it; throws where that was a failure. */
export function endOf({ status, data, text }: Extract<Recovery, { kind: 'ended' }>): TurnEnd {
  if (status === 'done') {
    const { turnId, usage, tokenEstimate } = data as Pick<TurnEnd, 'turnId' | 'usage'> & Partial<TurnEnd>;
    return { turnId, text, usage, tokenEstimate: tokenEstimate ?? usage.totalTokens };
  }
  const { code, message, why } = (data['error'] ?? {}) as { code?: string; message?: string; why?: unknown };
  const known = (code ?? 'ABORTED') as ErrorEvent['code'];
  const details = { reason: status };
  if (message === undefined) throw failure(known, 'turn.endedAs', { status }, { details });
  throw new RepriseError(known, message, { why: isMessage(why) ? why : undefined, details });
}

/** Why a turn that was cut off so often is not taken up again; undefined: it is. */
export function whyNot({ kind }: Recovery, attempts: number): RepriseError | undefined {
  if (kind === 'interrupted') {
    return failure('ABORTED', 'turn.toolInterrupted', {}, { details: { reason: 'interrupted' } });
  }
  if (attempts <= MAX_ATTEMPTS) return undefined;
  return failure(
    'MODEL_FAILED',
    'turn.crashLoop',
    { attempts: MAX_ATTEMPTS },
    { details: { reason: 'crash-loop', attempts } },
  );
}

/** How it ended, in its transcript: whoever finds the row untold reads it there. */
export function endEntry(inboxId: string, error: RepriseError): NewEntry {
  const data = { inboxId, status: error.details['reason'], error: storedError(error) };
  return { type: 'custom', customType: 'reprise.turn', data };
}

async function readAfter(store: Store, sessionId: string, afterSeq: number): Promise<Entry[]> {
  const found: StoredEntry[] = [];
  for (let from = afterSeq + 1; ; ) {
    const { entries, hasMore } = await store.read(sessionId, { from, limit: PAGE });
    found.push(...entries);
    const last = entries.at(-1);
    if (!hasMore || last === undefined) break;
    from = last.seq + 1;
  }
  return found.map(({ entry }) => entry as Entry);
}

/** Says of a turn whose calls are not stored that tools with side effects were called. */
export function callMark(inboxId: string, names: readonly string[]): NewEntry {
  return { type: 'custom', customType: 'reprise.calls', data: { inboxId, names } };
}

/** Where the last turn of another message ended; 1, the header, where there was none. */
export async function lastTurnEnd(store: Store, sessionId: string, inboxId: string): Promise<number> {
  for await (const { entry, seq } of newestFirst(store, sessionId))
    if ((endedTurn(entry) ?? inboxId) !== inboxId) return seq;
  return 1;
}

/** Whether an append with this key is behind `afterSeq`. */
export async function isStored(
  store: Store,
  sessionId: string,
  afterSeq: number,
  key: string,
): Promise<boolean> {
  const entries = await readAfter(store, sessionId, afterSeq);
  return entries.some(({ seal }) => seal?.k === key);
}

export function isTurnEnd(entry: Pick<Entry, 'type'>, inboxId: string): boolean {
  return endedTurn(entry) === inboxId;
}

/** The message whose turn ends with this entry. */
function endedTurn(entry: Pick<Entry, 'type'>): string | undefined {
  return aboutMessage(entry, 'reprise.turn');
}

function aboutMessage(entry: Pick<Entry, 'type'>, name: string): string | undefined {
  const data = customData(entry as Entry, name);
  return data === undefined ? undefined : String(data['inboxId']);
}

/** Answered without having been run. */
function isSkipped({ message }: Entry): boolean {
  return isObject(message) && isObject(message['details']) && message['details']['skipped'] === true;
}

function lastText(entries: readonly Entry[]): string {
  const message = entries.findLast(
    ({ message: found }) => isObject(found) && found['role'] === 'assistant',
  )?.['message'];
  return isObject(message) ? contentText(message['content']) : '';
}

function interruptedResult(toolCallId: string, toolName: string): NewEntry {
  const text = 'Interrupted: the process ended before this call was answered. It was not run again.';
  return {
    type: 'message',
    message: { role: 'toolResult', toolCallId, toolName, content: [{ type: 'text', text }], isError: true },
  };
}
