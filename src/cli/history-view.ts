import type { RepriseError } from '../errors.ts';
import { failure } from '../messages/failure.ts';
import { quoted } from '../messages/quoted.ts';
import type { Entry, SessionHeader } from '../transcript/entry.ts';
import { isObject, type JsonObject } from '../transcript/json.ts';
import { messagePositions } from '../transcript/message-position.ts';
import type { Transcript } from '../transcript/reader.ts';
import { selectContext } from '../transcript/render/select.ts';
import { TURN_STATISTICS } from '../transcript/settings.ts';
import { type ShownEntry, shownEntry } from '../transcript/shown-entry.ts';
import { buildTree, pathTo } from '../transcript/tree.ts';
import { escapeForTerminal, style } from './terminal/print.ts';

/** One row of a history, for terminals and for `--json`. */
export interface HistoryRow extends ShownEntry {
  /** Number of a user or assistant message on the branch, which users write as `#3`. */
  readonly position?: number;
  /** The model receives a summary instead of this row. */
  readonly compacted?: true;
  /** The row that `--at` asked for. */
  readonly here?: true;
}

export interface HistoryView {
  readonly session: Pick<SessionHeader, 'id' | 'key'> | null;
  /** Settings in force for the session. `importedFrom.settingsNotApplied` lists imported settings that are not. */
  readonly settings: JsonObject;
  readonly data: readonly HistoryRow[];
  readonly hasMore: boolean;
  readonly firstId: string | null;
  readonly lastId: string | null;
}

export interface ViewOptions {
  readonly leaf: string | undefined;
  readonly limit: number | undefined;
  /** The position (`#3`), id or line of an entry; only rows around it are shown. */
  readonly at?: string | undefined;
}

export const AROUND = 11;

/** The conversation from its root to the leaf, including the original messages of compacted parts. */
export function historyView(
  { header, entries, issues }: Transcript,
  { leaf, limit, at }: ViewOptions,
): HistoryView {
  const { entries: current, settings } = selectContext(entries, { leaf, issues });
  const inContext = new Set(current);
  const tree = buildTree(entries);
  const path = pathTo(tree, leaf === undefined ? tree.leaf : (tree.find(leaf) ?? -1));
  const positions = messagePositions(entries, leaf);
  const rows: HistoryRow[] = [];
  for (const at of withLosses(path, entries)) {
    const entry = entries[at];
    if (entry === undefined) continue;
    const position = positions.of(entry.id);
    const row = toRow(entry, at + 2, inContext.has(entry));
    rows.push(position === undefined ? row : { position, ...row });
  }
  if (at !== undefined && !rows.some((row) => isAt(row, at))) {
    // The entry may be on another branch.
    const there = entries[Number(at) - 2]?.id ?? at;
    if (leaf === undefined && tree.find(there) !== undefined)
      return historyView({ header, entries, issues } as Transcript, { leaf: there, limit, at });
  }
  const data = at !== undefined ? around(rows, at, limit) : limit === undefined ? rows : rows.slice(-limit);
  return {
    session: header ?? null,
    settings,
    data,
    hasMore: data.length < rows.length,
    firstId: data[0]?.id ?? null,
    lastId: data.at(-1)?.id ?? null,
  };
}

/** Whether the row has that position, id or line. */
export function isAt({ id, seq, position }: HistoryRow, at: string): boolean {
  return id === at || String(seq) === at || (position !== undefined && `#${position}` === at);
}

export function noEntryAt(
  at: string,
  { isRemote = false }: { readonly isRemote?: boolean } = {},
): RepriseError {
  return failure('NOT_FOUND', 'cli.noEntryAt', { at: quoted(at), isRemote });
}

/** At most `limit` rows, with the requested one in the middle. */
function around(rows: readonly HistoryRow[], at: string, limit: number = AROUND): HistoryRow[] {
  const place = rows.findIndex((row) => isAt(row, at));
  if (place === -1) throw noEntryAt(at);
  const from = Math.max(0, place - Math.floor(limit / 2));
  return rows.slice(from, from + limit).map((row) => (isAt(row, at) ? { ...row, here: true as const } : row));
}

/** Marks of lost entries belong to no branch, but a reader must see that something is missing. */
function withLosses(path: readonly number[], entries: readonly Entry[]): number[] {
  const losses = [...entries.keys()].filter((at) => entries[at]?.['customType'] === 'reprise.lost');
  const all = path.flatMap((at) => {
    const before = losses.filter((loss) => loss < at);
    losses.splice(0, before.length);
    return [...before, at];
  });
  return [...all, ...losses];
}

/** Converts a stored entry. The caller knows whether the model still receives it. */
export function toRow(entry: Entry, seq: number, inContext: boolean): HistoryRow {
  const isLeftOut = isObject(entry['message']) && !inContext;
  return { ...shownEntry(entry, seq), ...(isLeftOut && { compacted: true }) };
}

const MAX_RESULT_LINES = 12;

/** The view as text lines for a terminal. */
export function* renderView(
  { session, settings, data, hasMore }: HistoryView,
  { dialects, entries }: Partial<Pick<Transcript, 'dialects' | 'entries'>> = {},
): Generator<string> {
  const about = [
    dialects === undefined ? '' : [...dialects.keys()].join(', ') || 'empty',
    entries === undefined ? '' : entries.length === 1 ? '1 entry' : `${entries.length} entries`,
  ];
  const title = [session?.id ?? 'no id', session?.key, ...about];
  yield style('bold', escapeForTerminal(title.filter(Boolean).join(' · ')));
  for (const line of settingsLines(settings)) yield style('dim', escapeForTerminal(line));
  const isAround = data.some(({ here }) => here === true);
  if (hasMore)
    yield style('dim', isAround ? '… others left out by --at' : '… older entries left out by --limit');
  for (const row of data) {
    if (row.here === true)
      yield style('yellow', `\n▸ ${row.position === undefined ? `line ${row.seq}` : `#${row.position}`}`);
    yield* renderRow(row);
  }
}

const MAX_SETTING_CHARS = 80;

/** Settings change how the session runs, and the user must know which ones an import left out. */
function* settingsLines({ importedFrom, ...settings }: JsonObject): Generator<string> {
  for (const [name, value] of Object.entries(settings)) {
    if (TURN_STATISTICS.includes(name)) continue;
    const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
    const short = text.length > MAX_SETTING_CHARS ? `${text.slice(0, MAX_SETTING_CHARS)}…` : text;
    yield `setting ${name}: ${short.replaceAll('\n', ' ')}`;
  }
  const left = isObject(importedFrom) ? importedFrom['settingsNotApplied'] : undefined;
  if (Array.isArray(left))
    yield `settings in the imported file: ${left.join(', ')}; not applied (reprise import --accept-settings applies them)`;
}

export function* renderRow(row: HistoryRow): Generator<string> {
  const { role, timestamp, compacted, position } = row;
  const text = escapeForTerminal(row.text.trimEnd());
  switch (role) {
    case 'user':
    case 'assistant':
      yield '';
      yield style(role === 'user' ? ['bold', 'green'] : ['bold', 'cyan'], role) +
        style(
          'dim',
          `${position === undefined ? '' : `  #${position}`}  ${timestamp}${compacted ? '  (compacted)' : ''}`,
        );
      if (text !== '') yield text;
      for (const { name, input } of row.toolCalls ?? []) {
        yield style(
          'yellow',
          `  → ${escapeForTerminal(String(name))} ${escapeForTerminal(JSON.stringify(input) ?? '')}`,
        );
      }
      break;
    case 'toolResult':
      yield style('dim', indent(cut(text === '' ? '(no output)' : text)));
      break;
    case 'compaction':
      yield style(
        'magenta',
        '── compaction: the messages above marked (compacted) are replaced by this summary ──',
      );
      yield style('magenta', indent(text === '' ? '(nothing: an undone compaction)' : text));
      break;
    default:
      yield style('dim', `· ${escapeForTerminal(role)}${text === '' ? '' : `: ${text}`}`);
  }
}

function cut(text: string): string {
  const lines = text.split('\n');
  if (lines.length <= MAX_RESULT_LINES) return text;
  return [
    ...lines.slice(0, MAX_RESULT_LINES),
    `… ${lines.length - MAX_RESULT_LINES} more lines (--json has them)`,
  ].join('\n');
}

function indent(text: string): string {
  return text.replace(/^/gm, '  ← ');
}
