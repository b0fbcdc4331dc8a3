import { readHistory } from '../engine/history/read-history.ts';
import type { Reprise } from '../engine/reprise.ts';
import { failure } from '../messages/failure.ts';
import { pageOf } from '../protocol/page.ts';
import {
  contextIds,
  type HistoryPage,
  type HistoryQuery,
  type HistoryRow,
  historyRow,
  isSaid,
  type MessagePositions,
  parsePosition,
  pathIds,
} from '../protocol/records.ts';
import { sessionView } from '../protocol/sessions.ts';
import type { SessionRecord } from './find-session.ts';
import { positionsIn } from './message-positions.ts';

const LINES = 200;
/** About two thirds of the lines of a session are on the path to the leaf; the others record how turns ended. */
const LINES_PER_ROW = 1.5;

type Store = Reprise['store'];
type StoredEntry = Parameters<typeof historyRow>[0];

interface Line {
  readonly entry: StoredEntry;
  readonly seq: number;
  /** Set if the parent has several children. */
  branches?: readonly string[];
}

interface Found {
  /** Newest first. */
  readonly lines: readonly Line[];
  readonly hasMore: boolean;
}

/**
 * A page of the conversation from its root to its leaf, oldest first. Follows parents from the end and stops when the
 * page is full, so the newest page costs the same in a long session as in a short one.
 */
export async function readPage(
  store: Store,
  record: SessionRecord,
  query: HistoryQuery,
): Promise<HistoryPage> {
  const positions = await positionsIn(store, record);
  return readNumbered(store, record, withAroundId(query, positions), positions);
}

/** `around=#3` is the message at that position. */
function withAroundId(query: HistoryQuery, positions: MessagePositions | undefined): HistoryQuery {
  const position = parsePosition(query.around ?? '');
  if (position === undefined) return query;
  return { ...query, around: positions?.idAt(position) ?? noEntry(query) };
}

async function readNumbered(
  store: Store,
  record: SessionRecord,
  query: HistoryQuery,
  positions: MessagePositions | undefined,
): Promise<HistoryPage> {
  const { marks, limit, after, around } = query;
  const passed = { compaction: false };
  // The newest rows are near the end; an entry found by id can be anywhere.
  const isNear = after === undefined && around === undefined;
  const first = isNear ? Math.min(LINES, Math.ceil((limit + 1) * LINES_PER_ROW)) : LINES;
  const near = await findLines(walkBack(store, record, { marks, passed, first }), query);
  const { lines, hasMore } =
    near ??
    // Other tools can omit parents; then the path comes from the whole file.
    (await findLines(
      walkBack(store, record, { marks, passed, first, path: pathIds(await readHistory(store, record.id)) }),
      query,
    )) ??
    noEntry(query);
  // A walk also ends at a damaged line, and the reader that found the damage has recorded it in the session by now.
  const seen = near === undefined ? await store.get(record.id) : record;
  // Everything after the last summary is in the context. Ask the store only if the page reaches further back.
  const tail = passed.compaction ? await store.tail(record.id) : undefined;
  const inContext = tail && contextIds(tail.entries.map(({ entry }) => entry as StoredEntry));
  const rows = lines.map(
    ({ entry, seq, branches }): HistoryRow => ({
      ...historyRow(entry, seq, inContext),
      ...numbered(positions?.of(entry.id)),
      ...(branches !== undefined && { branches }),
    }),
  );
  return { session: sessionView(seen), ...pageOf(rows.reverse(), hasMore) };
}

function numbered(position: number | undefined): Pick<HistoryRow, 'position'> {
  return position === undefined ? {} : { position };
}

/** @returns undefined if the walk broke off or did not find the requested id. */
async function findLines(
  walk: AsyncIterable<Line | 'broken'>,
  query: HistoryQuery,
): Promise<Found | undefined> {
  const { limit, after, before, around } = query;
  if (around !== undefined) return linesAround(walk, around, limit);
  const lines: Line[] = [];
  let hasMore = false;
  let isBehind = before === undefined;
  for await (const line of walk) {
    if (line === 'broken') return undefined;
    if (line.entry.id === after) return { lines, hasMore };
    if (isBehind) {
      lines.push(line);
      // The page starts right after `after`, so newer lines are dropped.
      if (lines.length > limit && after !== undefined) hasMore = lines.shift() !== undefined;
      else if (lines.length > limit) return { lines: lines.slice(0, limit), hasMore: true };
    }
    isBehind ||= line.entry.id === before;
  }
  return after === undefined && isBehind ? { lines, hasMore } : undefined;
}

/** At most half a page of newer lines, then older ones until the page is full. */
async function linesAround(
  walk: AsyncIterable<Line | 'broken'>,
  around: string,
  limit: number,
): Promise<Found | undefined> {
  let lines: Line[] = [];
  let isFound = false;
  for await (const line of walk) {
    if (line === 'broken') return undefined;
    if (lines.length === limit && isFound) return { lines, hasMore: true };
    lines.push(line);
    if (line.entry.id === around || String(line.seq) === around) {
      isFound = true;
      lines = lines.slice(-Math.ceil(limit / 2));
    } else if (!isFound && lines.length > limit) lines.shift();
  }
  return isFound ? { lines, hasMore: false } : undefined;
}

function noEntry({ after, around, before = '' }: HistoryQuery): never {
  const field = around !== undefined ? 'around' : after === undefined ? 'before' : 'after';
  const entry = around ?? after ?? before;
  throw failure('INVALID_INPUT', 'history.noEntry', { entry }, { details: { field } });
}

/** Entries that are not messages but shown between them. */
const MARKS: ReadonlySet<unknown> = new Set(['reprise.turn', 'reprise.reset', 'reprise.leaf']);

interface WalkOptions {
  readonly path?: ReadonlySet<string>;
  readonly marks: boolean | undefined;
  /** What the walk has passed. */
  readonly passed: { compaction: boolean };
  /** Number of lines in the first read. */
  readonly first: number;
}

/**
 * Yields lines from the leaf to the root. It also yields reports of lost lines, and marks that are children of a line
 * on the path. A line is yielded when its parent is found, because all its siblings are known then.
 */
async function* walkBack(
  store: Store,
  { id, leaf, lastSeq }: SessionRecord,
  { path, marks = false, passed, first }: WalkOptions,
): AsyncGenerator<Line | 'broken'> {
  let wanted = leaf;
  /** Children of lines that were not reached yet, newest first. */
  const children = new Map<string | null, string[]>();
  let held: Line[] = [];
  let last: Line | undefined;
  const release = (parentId: string | null): Line[] => {
    const beside = children.get(parentId) ?? [];
    children.delete(parentId);
    // In a file with lost parents a line may be attached elsewhere than its parent field says.
    if (last !== undefined && beside.length > 1 && beside.includes(last.entry.id))
      last.branches = beside.reverse();
    const known = held;
    held = [];
    return known;
  };
  for (let [from, limit] = [lastSeq, first]; from >= 1; limit = LINES) {
    const { entries } = await store.read(id, { from, limit, direction: 'backward' });
    const newestFirst = [...entries].sort((a, b) => b.seq - a.seq);
    for (const { entry, seq } of newestFirst) {
      if (entry.type === 'session') continue;
      const line = entry as StoredEntry;
      const isOn = path === undefined ? line.id === wanted : path.has(line.id);
      const hangs = path === undefined ? line.parentId === wanted : path.has(line.parentId ?? '');
      const isMark = marks && hangs && MARKS.has(line['customType']);
      if (isOn && line.type === 'compaction') passed.compaction = true;
      const told: Line = { entry: line, seq };
      if (isOn) {
        yield* release(line.id);
        last = told;
        wanted = line.parentId;
      }
      if (isSaid(line)) {
        const beside = children.get(line.parentId);
        if (beside === undefined) children.set(line.parentId, [line.id]);
        else beside.push(line.id);
      }
      if (isOn || isMark || line['customType'] === 'reprise.lost') held.push(told);
    }
    from = (newestFirst.at(-1)?.seq ?? 1) - 1;
  }
  yield* release(null);
  if (path === undefined && wanted !== null) yield 'broken';
}
