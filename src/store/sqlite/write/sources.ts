import type { JsonObject } from '../../../transcript/json.ts';
import type {
  SessionSource,
  SourceListOptions,
  SourceMark,
  SourcePage,
  SourceRecord,
} from '../../port/sources.ts';
import { pageSize } from '../../rules/list-cursor.ts';
import {
  originOf,
  SOURCES_PER_PAGE,
  type SourceRow,
  sourceIdsOf,
  sourcePage,
  toMarkValues,
  toSource,
} from '../../rules/origin.ts';
import type { Database } from '../database.ts';
import type { SessionRow } from '../session-row.ts';
import type { Batch } from './batch.ts';

export function findSource(
  db: Database,
  { tool, id, sessionId }: Partial<SessionSource> & { readonly sessionId?: string },
): SourceRecord | undefined {
  const row =
    sessionId === undefined
      ? db.row<SourceRow>('SELECT * FROM sources WHERE tool = ? AND source_id = ?', tool ?? '', id ?? '')
      : db.row<SourceRow>('SELECT * FROM sources WHERE session_id = ?', sessionId);
  return row === undefined ? undefined : toSource(row);
}

export function listSources(
  db: Database,
  { tool, after = '', limit = SOURCES_PER_PAGE }: SourceListOptions,
): SourcePage {
  const size = pageSize(limit);
  const rows = db.rows<SourceRow>(
    'SELECT * FROM sources WHERE (? IS NULL OR tool = ?) AND session_id > ? ORDER BY session_id LIMIT ?',
    tool ?? null,
    tool ?? null,
    after,
    size + 1,
  );
  return sourcePage(rows, size);
}

export function findSourceEntries(
  db: Database,
  { id, sourceIds }: { readonly id: string; readonly sourceIds: readonly string[] },
): Map<string, number> {
  const rows = db.rows<{ source_id: string; seq: number }>(
    `SELECT source_id, seq FROM source_entries
     WHERE session_id = ? AND source_id IN (SELECT value FROM json_each(?))`,
    id,
    JSON.stringify(sourceIds),
  );
  return new Map(rows.map(({ source_id, seq }) => [source_id, seq]));
}

export function markSource({ db }: Batch, { id, ...mark }: SourceMark & { readonly id: string }): void {
  db.run('UPDATE sources SET path = ?, mark = ? WHERE session_id = ?', ...toMarkValues(mark), id);
}

/** Applies the entry that `create` writes. Of two transcripts with one source, the first that is read has it. */
export function adoptOrigin(db: Database, row: SessionRow, record: JsonObject): void {
  const origin = originOf(record);
  if (origin === undefined) return;
  const { owner, source } = origin;
  if (owner !== undefined) {
    row.owner = owner;
    db.run('UPDATE sessions SET owner = ? WHERE id = ?', owner, row.id);
  }
  if (source !== undefined)
    db.run(
      'INSERT OR IGNORE INTO sources (session_id, tool, source_id) VALUES (?, ?, ?)',
      row.id,
      source.tool,
      source.id,
    );
}

/** Remembers the ids that entries have in their source; the newest entry of an id counts. */
export function rememberSourceIds(
  db: Database,
  { id }: SessionRow,
  entries: readonly JsonObject[],
  firstSeq: number,
): void {
  for (const [sourceId, seq] of sourceIdsOf(entries, firstSeq))
    db.run('INSERT OR REPLACE INTO source_entries VALUES (?, ?, ?)', id, sourceId, seq);
}
