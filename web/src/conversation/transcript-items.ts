import { type HistoryRow, isMessage, type TokenUsage } from 'reprise/client';
import type { Failure } from '../i18n/strings.ts';

/** What the transcript shows, one after the other. `key` is stable while pages come and go. */
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

/** The conversation was gone on with more than once here: what each branch begins with, and which one is shown. */
export interface ForkPlace {
  readonly ids: readonly string[];
  readonly at: number;
}

export interface ToolUse {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
  readonly result?: HistoryRow;
  /** The model is sent less of the result than is shown. */
  readonly isShortened: boolean;
}

/** One answer of a model with the calls it made; their results stand with them. */
export interface AnswerItem {
  readonly type: 'answer';
  readonly key: string;
  readonly seq: number;
  readonly row: HistoryRow;
  readonly tools: readonly ToolUse[];
  readonly fork?: ForkPlace | undefined;
  /** Set on the last answer of a turn. */
  readonly turn?: TurnEnd;
}

export interface TurnEnd {
  readonly turnId: string;
  readonly status: string;
  readonly error?: Failure;
}

/** Originals a summary stands for. Closed they are one line. */
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
  /** 0: whoever made it did not write it down. The format asks for none of the three. */
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

/** Rows of the history as items: results with their calls, what a summary stands for behind one line. */
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
    // A branch may begin with what is not shown.
    if (ids !== undefined) fork = { ids, at: ids.indexOf(row.id) };
    const item = itemOf(row, { results, shortened, told, items, inForce, isLast: row.seq > lastSaid });
    if (item === undefined) continue;
    const isSaid = item.type === 'message' || item.type === 'answer';
    items.push(isSaid && fork !== undefined ? { ...item, fork } : item);
    if (isSaid) fork = undefined;
  }
  return foldCompacted(items, rows);
}

interface Seen {
  /** Some providers begin to count their calls anew in every turn. */
  readonly results: ReadonlyMap<string | undefined, readonly HistoryRow[]>;
  readonly shortened: ReadonlySet<string>;
  /** Results that stand with their call. */
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
      // What was brought back since is not told as taken back.
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
      return undefined; // settings and names: told elsewhere
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
      // Where something was said since, or a branch was chosen, the branches themselves tell.
      if (!isLast || !('undoes' in data) || 'branch' in data) return undefined;
      const last = items.at(-1);
      // Redo brings back the last of several.
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

/** The last compaction on the path is the one in force; an undo of it is a compaction too, and keeps everything. */
function foldCompacted(items: readonly Item[], rows: readonly HistoryRow[]): readonly Item[] {
  const row = lastCompaction(rows);
  const end = items.findLastIndex((item) => rowOf(item)?.compacted === true);
  if (row === undefined || end === -1) return items;
  // One that was brought back says the same and tells no figures of its own.
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

/** The report is of what the model wrote; most of what that lacks was put behind it, word for word. */
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

/** What a model call took, for one line. */
export function costOf(usage: TokenUsage | undefined): number | undefined {
  const parts = usage?.cost;
  if (parts === undefined) return undefined;
  return parts['total'] ?? Object.values(parts).reduce((sum, part) => sum + part, 0);
}
