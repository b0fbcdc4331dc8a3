import type { InboxItem } from '../../store/port/inbox.ts';
import { isObject, type JsonObject } from '../../transcript/json.ts';
import { queueSettings, type SettledQueueMode } from '../session-settings.ts';

/** What happens to a message that arrives while its session works. */
export type QueueMode = SettledQueueMode;

/** What is decided when a message is accepted, and stored with it: later changes concern later messages. */
export interface QueueTicket {
  readonly mode: QueueMode;
  /** 0: runs as soon as it can. */
  readonly debounceMs: number;
  /** When it was accepted, by the engine's clock. */
  readonly at: number;
}

/** A message to run, with those that are answered by the same turn. */
export interface NextTurn {
  readonly lead: InboxItem;
  /** Messages before the lead: only the mode `interrupt` has any. */
  readonly before: readonly InboxItem[];
  readonly after: readonly InboxItem[];
  /** How long to wait for more from the same sender first. */
  readonly waitMs: number;
}

/** Someone who never stops writing is answered all the same. */
const MAX_DEBOUNCES = 10;

export function ticketOf({ body, createdAt }: InboxItem): QueueTicket {
  const { queue } = body;
  const { mode, debounceMs, at } = isObject(queue) ? queue : {};
  return {
    mode: readMode(mode),
    debounceMs: typeof debounceMs === 'number' ? debounceMs : 0,
    at: typeof at === 'number' ? at : Date.parse(createdAt),
  };
}

/** Rows of an earlier version, or of another program, may say anything. */
function readMode(queueMode: unknown): QueueMode {
  const defaults = { mode: 'steer', debounceMs: 0, cap: 1, drop: 'old' } as const;
  return queueSettings({ queueMode } as JsonObject, defaults).mode;
}

/** Where an answer would go: messages of one route may share a turn. */
function routeOf({ body }: InboxItem): string {
  const { from } = body;
  if (!isObject(from)) return '';
  return JSON.stringify(['channel', 'account', 'peer', 'thread'].map((name) => from[name] ?? null));
}

function senderOf(item: InboxItem): string {
  const { from } = item.body;
  const sender = isObject(from) && isObject(from['sender']) ? from['sender']['id'] : undefined;
  return JSON.stringify([routeOf(item), sender ?? null]);
}

/** For a turn: commands pass the queue. */
export function isWaiting({ state, class: kind }: InboxItem): boolean {
  return state === 'accepted' && kind !== 'command';
}

/** A turn answers it now, or the one that did has lost its runner. */
export function isRunning({ state, class: kind }: InboxItem): boolean {
  return state === 'running' && kind !== 'command';
}

/** What a turn that runs takes along at its next boundary; one that has to wait never holds up the others. */
export function joinable(open: readonly InboxItem[]): InboxItem[] {
  return open.filter((item) => isWaiting(item) && STEERING.has(ticketOf(item).mode));
}

/** The newest message that ends the turn that runs. */
export function interrupter(waiting: readonly InboxItem[]): InboxItem | undefined {
  return waiting.findLast((item) => isWaiting(item) && ticketOf(item).mode === 'interrupt');
}

/**
 * Which of the queued messages run next, in one turn. The same rows give the same turn in every process: one that takes
 * over decides alike.
 */
export function nextTurn(items: readonly InboxItem[], now: number): NextTurn | undefined {
  const waiting = items.filter(isWaiting);
  const urgent = interrupter(waiting);
  if (urgent !== undefined) {
    const before = saidBefore(items, urgent);
    return { lead: urgent, before, after: [], waitMs: waitFor([...before, urgent], now) };
  }
  const [lead, ...others] = waiting;
  if (lead === undefined) return undefined;
  const { mode } = ticketOf(lead);
  if (ONE_BY_ONE.has(mode)) {
    const waitMs = waitFor([lead, ...run(others, sameRoute(lead))], now);
    return { lead, before: [], after: [], waitMs };
  }
  const after = run(others, mode === 'collect' ? sameRoute(lead) : sameSender(lead));
  return { lead, before: [], after, waitMs: waitFor([lead, ...after], now) };
}

/** Messages that would have joined the interrupted turn stay before the new one, also if its first runner died. */
export function saidBefore(items: readonly InboxItem[], lead: InboxItem): InboxItem[] {
  if (ticketOf(lead).mode !== 'interrupt') return [];
  const at = items.findIndex(({ inboxId }) => inboxId === lead.inboxId);
  return items
    .slice(0, Math.max(0, at))
    .filter((item) => isWaiting(item) && !FOR_THEMSELVES.has(ticketOf(item).mode));
}

/** The first so many that follow each other. */
function run(items: readonly InboxItem[], belongs: (item: InboxItem) => boolean): InboxItem[] {
  const end = items.findIndex((item) => !belongs(item));
  return end === -1 ? [...items] : items.slice(0, end);
}

function sameRoute(lead: InboxItem): (item: InboxItem) => boolean {
  const { mode } = ticketOf(lead);
  return (item) => ticketOf(item).mode === mode && routeOf(item) === routeOf(lead);
}

/** Several messages in quick succession are one thought; only where they wait for it. */
function sameSender(lead: InboxItem): (item: InboxItem) => boolean {
  const { debounceMs } = ticketOf(lead);
  return (item) =>
    debounceMs > 0 && !ONE_BY_ONE.has(ticketOf(item).mode) && senderOf(item) === senderOf(lead);
}

/**
 * Until the newest of them is old enough. Measured from now where a clock has jumped: a wait is never longer than
 * what was asked for.
 */
function waitFor(items: readonly InboxItem[], now: number): number {
  const tickets = items.map(ticketOf);
  const [first] = tickets;
  const newest = tickets.at(-1);
  if (first === undefined || newest === undefined || newest.debounceMs <= 0) return 0;
  const due = Math.min(newest.at + newest.debounceMs, first.at + MAX_DEBOUNCES * newest.debounceMs);
  return Math.max(0, Math.min(due - now, newest.debounceMs));
}

const STEERING: ReadonlySet<QueueMode> = new Set(['steer', 'steer-backlog']);
/** For their own turn, whatever comes meanwhile. */
const FOR_THEMSELVES: ReadonlySet<QueueMode> = new Set(['followup', 'queue', 'collect']);
const ONE_BY_ONE: ReadonlySet<QueueMode> = new Set(['followup', 'queue']);
