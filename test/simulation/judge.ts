import type { InboxItem, InboxState } from '../../src/exports/store.ts';
import type { Entry, Store } from '../../src/index.ts';
import { judgeTranscript, namesIn } from './judge-transcript.ts';
import type { Delivery } from './traffic.ts';

export interface Receipt {
  readonly inboxId: string;
  readonly sessionId: string;
  readonly sessionKey: string;
  readonly fresh: boolean;
}

/** A message with the receipts its senders got, once for each delivery that was answered. */
export interface Sent {
  readonly delivery: Delivery;
  readonly receipts: Receipt[];
  /** The code it was refused with: nothing of it may be found. */
  refused?: string;
}

/** What a model was sent. */
export interface SeenRequest {
  readonly sessionId: string;
  /** All messages that people sent to it. */
  readonly tokens: readonly string[];
  readonly unanswered: readonly string[];
  readonly round: number;
  /** Why a provider would refuse it. */
  readonly complaints: readonly string[];
}

export interface ToolRun {
  readonly id: string;
  readonly name: string;
  readonly sessionId: string;
}

/** What was seen from outside while it happened; `judge` compares it with what the store says afterwards. */
export interface Evidence {
  readonly messages: Sent[];
  readonly requests: SeenRequest[];
  readonly toolRuns: ToolRun[];
  /** The terminal events that a follower received. */
  readonly ends: { readonly inboxId: string; readonly type: 'done' | 'error'; readonly text?: string }[];
  /** What was wrong at once. */
  readonly findings: string[];
}

/** A message with its row. */
export interface Judged {
  readonly sent: Sent;
  readonly item: InboxItem;
}

const ENDS: ReadonlySet<InboxState> = new Set([
  'done',
  'failed',
  'cancelled',
  'merged',
  'dropped',
  'interrupted',
]);

export interface Verdict {
  /** Everything that is wrong. */
  readonly findings: readonly string[];
  /** How many messages ended how. */
  readonly states: Readonly<Record<string, number>>;
}

/** Looks at a store when all is quiet. */
export async function judge(store: Store, evidence: Evidence): Promise<Verdict> {
  const wrong = [...evidence.findings];
  const pending = await store.inbox.pending();
  if (pending.length > 0)
    wrong.push(`${pending.length} messages have no end: ${pending.map(said).join(', ')}`);
  const judged = await readRows(store, evidence.messages, wrong);
  wrong.push(...judgeRows(judged), ...judgeKeys(judged), ...judgeEnds(judged, evidence));
  const { status, findings } = await store.verify();
  if (status !== 'clean') wrong.push(`the store is ${status}: ${JSON.stringify(findings)}`);
  const sessions = new Map<string, Entry[]>();
  for (const id of await sessionIds(store)) sessions.set(id, await readAll(store, id));
  wrong.push(...judgeRequests(judged, evidence), ...judgeTools(evidence));
  for (const [id, entries] of sessions)
    wrong.push(...judgeTranscript(id, entries, judged).map((what) => `session ${id}: ${what}`));
  wrong.push(...judgePlaces(judged, sessions));
  return { findings: wrong, states: countStates(judged, evidence.messages) };
}

function countStates(judged: readonly Judged[], messages: readonly Sent[]): Record<string, number> {
  const counts: Record<string, number> = {};
  const refused = messages.flatMap((sent) => sent.refused ?? []);
  for (const state of [...judged.map(({ item }) => item.state), ...refused])
    counts[state] = (counts[state] ?? 0) + 1;
  return counts;
}

async function readAll(store: Store, id: string): Promise<Entry[]> {
  const all: Entry[] = [];
  for (let from = 2; ; ) {
    const { entries, hasMore } = await store.read(id, { from, limit: 1000 });
    for (const { entry } of entries) all.push(entry as Entry);
    const last = entries.at(-1);
    if (!hasMore || last === undefined) return all;
    from = last.seq + 1;
  }
}

async function readRows(store: Store, messages: readonly Sent[], wrong: string[]): Promise<Judged[]> {
  const judged: Judged[] = [];
  for (const sent of messages) {
    const [first, ...others] = sent.receipts;
    const called = sent.delivery.name ?? sent.delivery.text;
    if (first === undefined) {
      if (sent.refused === undefined) wrong.push(`${called} was never accepted`);
      continue;
    }
    for (const { inboxId, sessionId } of others)
      if (inboxId !== first.inboxId || sessionId !== first.sessionId)
        wrong.push(`${called} was accepted twice`);
    if (sent.receipts.filter(({ fresh }) => fresh).length > 1) wrong.push(`${called} was fresh twice`);
    try {
      judged.push({ sent, item: await store.inbox.get(first.inboxId) });
    } catch {
      wrong.push(`${called} was accepted and is gone`);
    }
  }
  return judged;
}

function judgeRows(judged: readonly Judged[]): string[] {
  const byId = new Map(judged.map(({ item }) => [item.inboxId, item]));
  return judged.flatMap(({ sent, item }) => {
    const { state, detail } = item;
    const { name, text } = sent.delivery;
    const called = name ?? text;
    if (!ENDS.has(state)) return [`${called} is ${state}`];
    if (name === undefined && state !== 'done' && state !== 'interrupted')
      return [`command ${text} is ${state}`];
    if (state !== 'merged') return [];
    const into = byId.get(String(detail?.['mergedInto']));
    if (into === undefined) return [`${called} is merged into nothing we know: ${JSON.stringify(detail)}`];
    if (into.sessionId !== item.sessionId) return [`${called} is merged into a message of another session`];
    return ENDS.has(into.state) ? [] : [`${called} is merged into a message that is ${into.state}`];
  });
}

/** One conversation is one key, and no two conversations share one. */
function judgeKeys(judged: readonly Judged[]): string[] {
  const wrong: string[] = [];
  const keyOf = new Map<number, string>();
  const ownerOf = new Map<string, number>();
  for (const { sent, item } of judged) {
    const { n } = sent.delivery.conversation;
    const key = keyOf.get(n) ?? item.sessionKey;
    const owner = ownerOf.get(item.sessionKey) ?? n;
    if (key !== item.sessionKey) wrong.push(`conversation ${n} has keys ${key} and ${item.sessionKey}`);
    if (owner !== n) wrong.push(`conversations ${owner} and ${n} share key ${key}`);
    keyOf.set(n, key);
    ownerOf.set(item.sessionKey, owner);
  }
  return wrong;
}

/** A follower that received the end of a message received what its row says. */
function judgeEnds(judged: readonly Judged[], { ends }: Evidence): string[] {
  const byId = new Map(judged.map((one) => [one.item.inboxId, one]));
  return ends.flatMap(({ inboxId, type }) => {
    const found = byId.get(inboxId);
    if (found === undefined) return [];
    const { state, detail } = byId.get(String(found.item.detail?.['mergedInto']))?.item ?? found.item;
    // Stopped by another process in the moment its answer was stored: one heard the one, one the other.
    if (state === 'cancelled' && detail?.['reason'] === 'stopped') return [];
    const isDone = state === 'done';
    return isDone === (type === 'done')
      ? []
      : [`${found.sent.delivery.name} is ${state} and was told ${type}: ${JSON.stringify(detail)}`];
  });
}

/** A model hears what was said in its session and nothing else. */
function judgeRequests(judged: readonly Judged[], { requests }: Evidence): string[] {
  const sessionOf = new Map(judged.map(({ sent, item }) => [sent.delivery.name, item.sessionId]));
  return requests.flatMap(({ sessionId, tokens, complaints }) => [
    ...complaints.map((what) => `a request is invalid: ${what}`),
    ...tokens
      .filter((token) => sessionOf.get(token) !== sessionId)
      .map((token) => `the model of session ${sessionId} was told ${token} of ${sessionOf.get(token)}`),
  ]);
}

function judgeTools({ toolRuns }: Evidence): string[] {
  const unsafe = toolRuns.filter(({ name }) => name === 'unsafe').map(({ id }) => id);
  return unsafe.filter((id, i) => unsafe.indexOf(id) !== i).map((id) => `${id} ran twice`);
}

/** Every message is stored once, in the session of its receipt; one that did not start may be missing. */
function judgePlaces(judged: readonly Judged[], sessions: ReadonlyMap<string, readonly Entry[]>): string[] {
  const places = new Map<string, string[]>();
  for (const [id, entries] of sessions)
    for (const name of entries.flatMap(namesIn)) places.set(name, [...(places.get(name) ?? []), id]);
  return judged.flatMap(({ sent, item }) => {
    const { name } = sent.delivery;
    if (name === undefined) return [];
    const found = places.get(name) ?? [];
    places.delete(name);
    const isOptional = item.state === 'dropped' || item.state === 'cancelled';
    if (found.length === 0) return isOptional ? [] : [`${name} is ${item.state} and stands nowhere`];
    if (found.length > 1) return [`${name} stands in ${found.length} places: ${found.join(', ')}`];
    return found[0] === item.sessionId ? [] : [`${name} stands in another session than its own`];
  });
}

async function sessionIds(store: Store): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await store.list({ status: 'any', limit: 500, ...(cursor === undefined ? {} : { cursor }) });
    ids.push(...page.sessions.map(({ id }) => id));
    cursor = page.cursor;
  }
  return ids;
}

function said({ body, state, sessionId }: InboxItem): string {
  return `${String(body['text'])} (${state} in ${sessionId})`;
}
