import { RepriseError } from '../../errors.ts';
import { contentText } from '../../transcript/content.ts';
import type { Entry, SessionHeader } from '../../transcript/entry.ts';
import { isObject } from '../../transcript/json.ts';
import type { SearchHit, SearchQuery, SearchResult } from '../store.ts';
import type { Database } from './database.ts';
import type { LinePage, LineSource } from './line-source.ts';
import { findSession, recentOf } from './session-row.ts';
import type { Steps } from './steps.ts';
import { createTextFilter } from './text-filter.ts';

/** As long as a person would wait. */
const BUDGET_MS = 1000;
const SNIPPET_CHARS = 80;
const SESSIONS_PER_STEP = 500;

interface Place {
  readonly id: string;
  readonly last_at: string;
}

/**
 * A scan, newest sessions and newest lines first. Every step sees the store as it is then, so sessions may come, go
 * and grow meanwhile; what was said before the search began is found wherever its session has moved to.
 */
export function* searchSessions(
  db: Database,
  source: LineSource,
  { text, limit = 20, agentId, budgetMs = BUDGET_MS }: SearchQuery,
): Steps<SearchResult> {
  if (!(budgetMs >= 0))
    throw new RepriseError('INVALID_INPUT', `a budget is a number of milliseconds, not ${budgetMs}`);
  const deadline = performance.now() + budgetMs;
  const words = text.toLowerCase();
  const hits: SearchHit[] = [];
  if (words === '') return { hits, complete: true };
  const wanted = createTextFilter(words);
  const newest = db.row<{ n: number | null }>('SELECT max(rowid) AS n FROM sessions')?.n ?? 0;
  const seen = new Set<string>();
  // A session that gets a new line jumps over the place where the scan is: looked for until none is left out.
  for (let left = true; left; ) {
    left = false;
    for (let page = recent(db, newest, agentId); page.length > 0; page = recent(db, newest, agentId, page)) {
      yield;
      for (const { id } of page) {
        if (seen.has(id)) continue;
        seen.add(id);
        left = true;
        for (const found of searchSession(db, source, id, wanted)) {
          addHits(found, id, words, hits);
          if (hits.length >= limit) return { hits: hits.slice(0, limit), complete: true };
          if (performance.now() > deadline) return { hits, complete: false };
          yield;
        }
      }
      if (performance.now() > deadline) return { hits, complete: false };
    }
  }
  return { hits, complete: true };
}

/** Open sessions the search began with, newest first. */
function recent(db: Database, newest: number, agentId?: string, before?: readonly Place[]): Place[] {
  const last = before?.at(-1);
  const filter = [
    agentId === undefined ? '' : 'AND agent_id = ?',
    last === undefined ? '' : 'AND (recent, last_at, id) < (?, ?, ?)',
  ];
  return db.rows<Place>(
    `SELECT id, last_at FROM sessions WHERE status = 'open' AND rowid <= ? ${filter.join(' ')}
     ORDER BY recent DESC, last_at DESC, id DESC LIMIT ${SESSIONS_PER_STEP}`,
    newest,
    ...(agentId === undefined ? [] : [agentId]),
    ...(last === undefined ? [] : [recentOf(last.last_at), last.last_at, last.id]),
  );
}

/** From the last line backwards, a look at a time; ends early when the session is deleted or purged meanwhile. */
function* searchSession(
  db: Database,
  source: LineSource,
  id: string,
  wanted: (bytes: Buffer) => boolean,
): Generator<LinePage> {
  let to = Number.POSITIVE_INFINITY;
  while (to >= 1) {
    const page = db.snapshot(() => {
      const row = findSession(db, id);
      // Without lines: its transcript waits to be read.
      if (row?.status !== 'open' || row.seq === 0) return undefined;
      return source.lines(row, { from: 1, to: Math.min(to, row.seq), backward: true, wanted });
    });
    if (page === undefined) return;
    yield page;
    to = page.from - 1;
  }
}

function addHits({ lines }: LinePage, id: string, words: string, hits: SearchHit[]): void {
  for (const { seq, entry } of lines.toReversed()) {
    const text = textOf(entry);
    const at = text.toLowerCase().indexOf(words);
    if (at === -1) continue;
    hits.push({ id, seq, snippet: text.slice(Math.max(0, at - SNIPPET_CHARS / 2), at + SNIPPET_CHARS) });
  }
}

function textOf(entry: Entry | SessionHeader): string {
  const { message, summary, content } = entry as Entry;
  if (isObject(message)) return contentText(message['content']);
  return typeof summary === 'string' ? summary : contentText(content);
}
