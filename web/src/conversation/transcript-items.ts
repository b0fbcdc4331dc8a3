import { type HistoryRow, isMessage, type TokenUsage } from 'reprise/client';
import type { Failure } from '../i18n/strings.ts';

/** The elements of the transcript, in order. `key` stays the same when pages are loaded. */
export type Item =
  | MessageItem
  | AnswerItem
  | FoldItem
  | { readonly type: 'mark'; readonly key: string; readonly seq: number; readonly mark: Mark };

export interface MessageItem {
  readonly type: 'message';
  readonly key: string;
  readonly seq: number;
  readonly row: HistoryRow;
  readonly fork?: ForkPlace | undefined;
}

/** A fork: the first entry of each branch, and the index of the shown one. */
export interface ForkPlace {
  readonly ids: readonly string[];
  readonly at: number;
}

export interface ToolUse {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
  readonly result?: HistoryRow;
  /** The model receives a shortened result. */
  readonly isShortened: boolean;
}

/** One answer of a model with its tool calls and their results. */
export interface AnswerItem {
  readonly type: 'answer';
  readonly key: string;
  readonly seq: number;
  readonly row: HistoryRow;
  readonly tools: readonly ToolUse[];
  readonly fork?: ForkPlace | undefined;
  /** Set on the last answer of a turn. */
  readonly turn?: TurnEnd;
  /** Another answer of the same turn comes before it and has the header. */
  readonly isContinued?: true;
}

export interface TurnEnd {
  readonly turnId: string;
  readonly status: string;
  readonly error?: Failure;
}

/** Messages covered by a compaction; shown as one line while closed. */
export interface FoldItem {
  readonly type: 'fold';
  readonly key: string;
  readonly seq: number;
  readonly compaction: CompactionFacts;
  readonly hidden: readonly Item[];
}

export interface CompactionFacts {
  readonly id: string;
  readonly summary: string;
  /** 0 if the tool that compacted did not store it: all three fields are optional in the format. */
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  readonly coveredEntries: number;
  readonly method: string;
  readonly recall?: Recall;
}

export interface Recall {
  readonly total: number;
  readonly found: number;
  readonly missing: readonly string[];
}

export type Mark =
  | { readonly kind: 'undone' }
  | { readonly kind: 'shortened'; readonly count: number }
  | { readonly kind: 'leaf' }
  | { readonly kind: 'reset'; readonly next: string }
  | { readonly kind: 'lost'; readonly text: string }
  | { readonly kind: 'turn'; readonly turn: TurnEnd; readonly isLast: boolean };

/** Converts history rows to items: results join their calls, and compacted messages become one line. */
export function transcriptItems(rows: readonly HistoryRow[]): readonly Item[] {
  const results = Map.groupBy(rows, ({ toolCallId }) => toolCallId);
  const shortened = new Set(
    rows.flatMap((row) => {
      const target = row.role === 'context_edit' ? row.details?.['targetId'] : undefined;
      return typeof target === 'string' ? [target] : [];
    }),
  );
  const told = new Set<string>();
  const items: Item[] = [];
  let fork: ForkPlace | undefined;
  const lastSaid = rows.findLast(({ role }) => role !== 'custom')?.seq ?? 0;
  const inForce = lastCompaction(rows);
  for (const row of rows) {
    const { branches: ids } = row;
    // The first row of a branch may be one that is not shown.
    if (ids !== undefined) fork = { ids, at: ids.indexOf(row.id) };
    const item = itemOf(row, { results, shortened, told, items, inForce, isLast: row.seq > lastSaid });
    if (item === undefined) continue;
    const isSaid = item.type === 'message' || item.type === 'answer';
    items.push(isSaid && fork !== undefined ? { ...item, fork } : item);
    if (isSaid) fork = undefined;
  }
  return foldCompacted(items.map(joined), rows);
}

/** Answers of one turn follow each other. */
function joined(item: Item, at: number, items: readonly Item[]): Item {
  const before = items[at - 1];
  const isSame = item.type === 'answer' && before?.type === 'answer' && before.row.model === item.row.model;
  return isSame && before.turn === undefined && item.fork === undefined
    ? { ...item, isContinued: true }
    : item;
}

interface Seen {
  /** By call id; several rows, because some providers restart their call ids in every turn. */
  readonly results: ReadonlyMap<string | undefined, readonly HistoryRow[]>;
  readonly shortened: ReadonlySet<string>;
  /** Results that are shown with their call. */
  readonly told: Set<string>;
  readonly items: Item[];
  readonly inForce: HistoryRow | undefined;
  readonly isLast: boolean;
}

function itemOf(row: HistoryRow, seen: Seen): Item | undefined {
  const { id: key, seq } = row;
  switch (row.role) {
    case 'assistant': {
      const tools = (row.toolCalls ?? []).map(({ id, name, input }): ToolUse => {
        const named = seen.results.get(id) ?? [];
        const result = named.find((one) => one.seq > seq && !seen.told.has(one.id));
        if (result !== undefined) seen.told.add(result.id);
        const isShortened = result !== undefined && seen.shortened.has(result.id);
        return { id, name, input, ...(result !== undefined && { result }), isShortened };
      });
      return { type: 'answer', key, seq, row, tools };
    }
    case 'toolResult':
      return seen.told.has(row.id) ? undefined : { type: 'message', key, seq, row };
    case 'compaction':
      // An undo of a compaction; if it was redone since, it is not shown.
      return row === seen.inForce && isRecord(row.details?.['details']) && 'undoes' in row.details['details']
        ? { type: 'mark', key, seq, mark: { kind: 'undone' } }
        : undefined;
    case 'context_edit': {
      const last = seen.items.at(-1);
      if (last?.type === 'mark' && last.mark.kind === 'shortened') {
        seen.items.pop();
        return { ...last, mark: { kind: 'shortened', count: last.mark.count + 1 } };
      }
      return { type: 'mark', key, seq, mark: { kind: 'shortened', count: 1 } };
    }
    case 'custom':
      return markOf(row, seen);
    case 'user':
    case 'system':
    case 'bashExecution':
    case 'custom_message':
    case 'branch_summary':
      return { type: 'message', key, seq, row };
    default:
      return undefined; // settings and names are shown elsewhere
  }
}

function markOf(row: HistoryRow, { items, isLast }: Seen): Item | undefined {
  const { id: key, seq, details } = row;
  const data = isRecord(details?.['data']) ? details['data'] : {};
  switch (details?.['customType']) {
    case 'reprise.turn': {
      const turn = turnEnd(data);
      const last = items.at(-1);
      if (last?.type === 'answer') {
        items.pop();
        items.push({ ...last, turn });
        if (turn.status === 'done') return undefined;
      }
      return turn.status === 'done'
        ? undefined
        : { type: 'mark', key, seq, mark: { kind: 'turn', turn, isLast } };
    }
    case 'reprise.reset':
      return typeof data['next'] === 'string'
        ? { type: 'mark', key, seq, mark: { kind: 'reset', next: data['next'] } }
        : undefined;
    case 'reprise.leaf': {
      // After new messages or a change of branch, the branch switcher shows the undone part.
      if (!isLast || !('undoes' in data) || 'branch' in data) return undefined;
      const last = items.at(-1);
      // One mark for several undo steps in a row.
      if (last?.type === 'mark' && last.mark.kind === 'leaf') items.pop();
      return { type: 'mark', key, seq, mark: { kind: 'leaf' } };
    }
    case 'reprise.lost':
      return { type: 'mark', key, seq, mark: { kind: 'lost', text: row.text } };
    default:
      return undefined;
  }
}

function turnEnd(data: Readonly<Record<string, unknown>>): TurnEnd {
  const { turnId, status, error } = data;
  const { message, code, why } = isRecord(error) ? error : {};
  return {
    turnId: typeof turnId === 'string' ? turnId : '',
    status: String(status),
    ...(typeof message === 'string' && {
      error: { code: String(code), message, details: {}, ...(isMessage(why) && { why }) },
    }),
  };
}

/**
 * Folds the messages covered by the last compaction on the path. An undo is stored as a compaction that covers nothing.
 */
function foldCompacted(items: readonly Item[], rows: readonly HistoryRow[]): readonly Item[] {
  const row = lastCompaction(rows);
  const end = items.findLastIndex((item) => rowOf(item)?.compacted === true);
  if (row === undefined || end === -1) return items;
  // A redone compaction repeats the summary without the figures, so take them from the first one.
  const first = rows.findLast(
    ({ text, details }) => text === row.text && details?.['tokensBefore'] !== undefined,
  );
  const compaction = { ...compactionFacts(first ?? row), id: row.id };
  const hidden = items.slice(0, end + 1);
  const fold: FoldItem = { type: 'fold', key: `fold-${row.id}`, seq: row.seq, compaction, hidden };
  return [fold, ...items.slice(end + 1)];
}

function lastCompaction(rows: readonly HistoryRow[]): HistoryRow | undefined {
  return rows.findLast(({ role }) => role === 'compaction');
}

export function rowOf(item: Item): HistoryRow | undefined {
  return item.type === 'message' || item.type === 'answer' ? item.row : undefined;
}

function compactionFacts({ id, text, details = {} }: HistoryRow): CompactionFacts {
  const more = isRecord(details['details']) ? details['details'] : {};
  const { coveredEntries, method, recall } = more;
  return {
    id,
    summary: text,
    tokensBefore: count(details['tokensBefore']),
    tokensAfter: count(details['tokensAfter']),
    coveredEntries: count(coveredEntries),
    method: typeof method === 'string' ? method : '',
    ...(isRecord(recall) && { recall: recallOf(recall, text) }),
  };
}

/** The check of the model's summary: `missing` facts were mostly appended to it verbatim. */
function recallOf({ total, found, missing }: Readonly<Record<string, unknown>>, summary: string): Recall {
  const named = Array.isArray(missing) ? missing.map(String) : [];
  const lost = named.filter((fact) => !summary.includes(fact));
  return { total: count(total), found: count(found) + named.length - lost.length, missing: lost };
}

function count(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : 0;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The cost of a model call. */
export function costOf(usage: TokenUsage | undefined): number | undefined {
  const parts = usage?.cost;
  if (parts === undefined) return undefined;
  return parts['total'] ?? Object.values(parts).reduce((sum, part) => sum + part, 0);
}
