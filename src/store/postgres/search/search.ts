import type { SearchProgress, SearchQuery, SearchResult } from '../../port/search.ts';
import { SearchHits } from '../../search/search-hits.ts';
import { checkSearch, parseSearchCursor, SEARCH_BUDGET_MS, searchWords } from '../../search/search-query.ts';
import type { Sql } from '../connection/connections.ts';
import { boundedLines } from '../long-lines.ts';
import { getSession } from '../rows.ts';
import { plainText } from '../text.ts';
import { parseLine } from './search-blocks.ts';
import { queryGrams } from './search-grams.ts';

/** Consecutive lines of one session that must be read. */
interface Range {
  readonly id: string;
  readonly agent: string;
  readonly first: number;
  readonly last: number;
  /** Size of the lines, or an upper limit. */
  readonly bytes: number;
  /** Time of the newest of them; null if they are not indexed. */
  readonly newest: number | null;
}

/** Far more than can be read within any time limit. */
const MAX_RANGES = 20_000;
/** Size of the lines that are requested together. */
const BYTES_AT_ONCE = 512 * 1024;
const RANGES_AT_ONCE = 64;
const LINES_AT_ONCE = 256;

/**
 * Searches with the index: it names the blocks that may match and the lines that are not indexed; these are read,
 * newest first, and checked. Both come from one statement and therefore one snapshot, so no line committed before the
 * search is missed, whatever is indexed or joined meanwhile.
 */
export async function searchSessions(sql: Sql, query: SearchQuery): Promise<SearchResult> {
  checkSearch(query);
  const deadline = performance.now() + (query.budgetMs ?? SEARCH_BUDGET_MS);
  const words = searchWords(query.text);
  const hits = new SearchHits(words, query);
  if (query.sessionId !== undefined) await getSession(sql, query.sessionId);
  if (words.length === 0) return hits.result();
  const ranges = await findRanges(sql, query, words);
  for (let at = 0; at < ranges.length; ) {
    const { newest = null } = ranges[at] ?? {};
    if (newest !== null && hits.isFullBefore(newest)) return hits.result();
    const some = together(ranges, at);
    const isWhole = await offerLines(sql, some, { hits, deadline });
    if (isWhole) at += some.length;
    if (!isWhole || (performance.now() > deadline && at < ranges.length)) {
      const isBehind = ranges[at]?.newest === null;
      return isBehind ? hits.result('indexing', await progress(sql)) : hits.result('time');
    }
  }
  return ranges.length < MAX_RANGES ? hits.result() : hits.result('time');
}

/** Ranges that are not indexed come first, then the others by their newest message. */
async function findRanges(sql: Sql, query: SearchQuery, words: readonly string[]): Promise<Range[]> {
  const { agentId, channel, sessionId, after } = query;
  const values: unknown[] = [queryGrams(words)];
  const value = (asked: unknown): string => `$${values.push(asked)}`;
  const asked = Object.entries({ agent_id: agentId, channel, id: sessionId }).flatMap(([column, given]) =>
    given === undefined ? [] : [`AND s.${column} = ${value(plainText(given))}`],
  );
  const where = `s.status = 'open' ${asked.join(' ')}`;
  const older = after === undefined ? '' : `AND b.oldest <= ${value(parseSearchCursor(after).at)}`;
  return sql.query<Range>(
    `SELECT id, agent, first, last, bytes, newest FROM (
       SELECT s.id, s.agent_id AS agent, s.indexed_seq + 1 AS first, s.seq AS last, s.bytes, NULL::bigint AS newest, s.last_at
       FROM reprise.sessions AS s WHERE s.unindexed AND ${where}
       UNION ALL
       SELECT b.session_id, s.agent_id, b.first_seq, b.last_seq, b.bytes, b.newest, NULL
       FROM reprise.search_candidates($1::int4[]) AS b JOIN reprise.sessions AS s ON s.id = b.session_id
       WHERE ${where} ${older}
     ) AS ranges ORDER BY newest DESC NULLS FIRST, last_at DESC, id DESC LIMIT ${MAX_RANGES}`,
    values,
  );
}

/** The next ranges that fit into one statement; at least one. */
function together(ranges: readonly Range[], from: number): Range[] {
  let bytes = 0;
  let to = from;
  for (; to < ranges.length && to - from < RANGES_AT_ONCE; to++) {
    const range = ranges[to];
    if (range === undefined) break;
    bytes += range.bytes;
    const isOfOneKind = (range.newest === null) === (ranges[from]?.newest === null);
    if (to > from && (bytes > BYTES_AT_ONCE || !isOfOneKind)) break;
  }
  return ranges.slice(from, to);
}

interface Line {
  readonly id: string;
  readonly seq: number;
  readonly line: string;
}

/** Reads each range through the index of its lines. */
const LINES = `SELECT r.id, l.seq, l.line
  FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS r (id, first, last),
    LATERAL (SELECT seq, line FROM reprise.lines
      WHERE session_id = r.id AND seq BETWEEN r.first AND r.last ORDER BY seq) AS l`;

const LONG = boundedLines({
  columns: 'session_id, seq, line',
  from: 'reprise.lines WHERE session_id = $1 AND seq BETWEEN $2 AND $3',
  order: 'seq DESC',
  text: 'line',
  limit: '$4',
});

interface Search {
  readonly hits: SearchHits;
  readonly deadline: number;
}

/** @returns false if the time limit was reached before all lines were read. */
async function offerLines(sql: Sql, ranges: readonly Range[], search: Search): Promise<boolean> {
  const { hits } = search;
  const [first] = ranges;
  if (first !== undefined && first.bytes > BYTES_AT_ONCE) return offerLong(sql, first, search);
  const lines = await sql.query<Line>(LINES, [
    ranges.map(({ id }) => id),
    ranges.map((range) => range.first),
    ranges.map((range) => range.last),
  ]);
  const agents = new Map(ranges.map(({ id, agent }) => [id, agent]));
  for (const { id, seq, line } of lines)
    hits.offer({ id, agentId: agents.get(id) ?? '' }, seq, parseLine(line));
  return true;
}

/** Reads a range that may be long, one page at a time. */
async function offerLong(
  sql: Sql,
  { id, agent: agentId, first, last }: Range,
  { hits, deadline }: Search,
): Promise<boolean> {
  for (let to = last; to >= first; ) {
    const lines = await sql.query<Omit<Line, 'id'>>(LONG, [id, first, to, LINES_AT_ONCE]);
    for (const { seq, line } of lines) hits.offer({ id, agentId }, seq, parseLine(line));
    const lowest = lines.at(-1)?.seq;
    // The session was purged meanwhile.
    if (lowest === undefined) return true;
    to = lowest - 1;
    if (to >= first && performance.now() > deadline) return false;
  }
  return true;
}

async function progress(sql: Sql): Promise<SearchProgress> {
  const [row] = await sql.query<SearchProgress>(
    'SELECT sum(indexed_seq)::bigint AS done, sum(seq)::bigint AS total FROM reprise.sessions',
  );
  return row ?? { done: 0, total: 0 };
}
