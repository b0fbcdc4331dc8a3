import { parseSessionId } from '../../keys/ids.ts';
import type { JsonObject } from '../../transcript/json.ts';
import type { SessionSource, Sources } from '../port/sources.ts';
import { checkMark, checkSource } from '../rules/check-input.ts';
import { pageSize } from '../rules/list-cursor.ts';
import {
  type Origin,
  originOf,
  SOURCES_PER_PAGE,
  type SourceRow,
  sourceIdsOf,
  sourcePage,
  toMarkValues,
  toSource,
} from '../rules/origin.ts';
import { type StoreContext, transaction } from './connection/transaction.ts';
import type { Tx } from './connection/tx.ts';
import type { SessionRow } from './rows.ts';
import { plainText } from './text.ts';

const COLUMNS = 'session_id, tool, source_id, path, mark';

/**
 * Waits for a transaction that claims the same source. @returns false if a session has the source, which then is the
 * one to use.
 */
const CLAIM = `INSERT INTO reprise.sources (session_id, tool, source_id) VALUES ($1, $2, $3)
  ON CONFLICT DO NOTHING RETURNING session_id`;
const OF_SOURCE = `SELECT ${COLUMNS} FROM reprise.sources WHERE tool = $1 AND source_id = $2`;
const REMEMBER = `INSERT INTO reprise.source_entries (session_id, source_id, seq)
  SELECT $1, * FROM unnest($2::text[], $3::bigint[])
  ON CONFLICT (session_id, source_id) DO UPDATE SET seq = excluded.seq WHERE excluded.seq > source_entries.seq`;

export function postgresSources(context: StoreContext): Sources {
  const { connections } = context;
  const one = ([row]: readonly SourceRow[]) => (row === undefined ? undefined : toSource(row));
  return {
    find: async (source) => {
      const { tool, id } = checkSource(source);
      return one(await connections.query<SourceRow>(OF_SOURCE, [tool, id]));
    },
    of: async (sessionId) =>
      one(
        await connections.query<SourceRow>(`SELECT ${COLUMNS} FROM reprise.sources WHERE session_id = $1`, [
          parseSessionId(sessionId),
        ]),
      ),
    list: async ({ tool, after = '', limit = SOURCES_PER_PAGE } = {}) => {
      const size = pageSize(limit);
      const rows = await connections.query<SourceRow>(
        `SELECT ${COLUMNS} FROM reprise.sources WHERE ($1::text IS NULL OR tool = $1) AND session_id > $2
         ORDER BY session_id LIMIT $3`,
        [tool === undefined ? null : plainText(tool), after, size + 1],
      );
      return sourcePage(rows, size);
    },
    mark: async (sessionId, mark) => {
      const values = [parseSessionId(sessionId), ...toMarkValues(checkMark(mark))];
      await transaction(context, async (tx) =>
        tx.run('UPDATE reprise.sources SET path = $2, mark = $3 WHERE session_id = $1', values),
      );
    },
    entries: async (sessionId, sourceIds) => {
      const rows = await connections.query<{ source_id: string; seq: number }>(
        'SELECT source_id, seq FROM reprise.source_entries WHERE session_id = $1 AND source_id = ANY($2)',
        [parseSessionId(sessionId), sourceIds.map(plainText)],
      );
      return new Map(rows.map(({ source_id, seq }) => [source_id, seq]));
    },
  };
}

export async function sessionOfSource(tx: Tx, { tool, id }: SessionSource): Promise<string | undefined> {
  const [row] = await tx.query<SourceRow>(OF_SOURCE, [tool, id]);
  return row?.session_id;
}

/** @returns false if another session has this source. */
export async function claimSource(tx: Tx, sessionId: string, { tool, id }: SessionSource): Promise<boolean> {
  return (await tx.query(CLAIM, [sessionId, tool, id])).length > 0;
}

/** For copied lines: applies the entry that `create` writes. */
export function copyOrigin(tx: Tx, row: SessionRow, record: JsonObject): void {
  const { owner, source }: Origin = originOf(record) ?? {};
  if (owner !== undefined) {
    row.owner = owner;
    tx.run('UPDATE reprise.sessions SET owner = $2 WHERE id = $1', [row.id, owner]);
  }
  if (source !== undefined) tx.run(CLAIM, [row.id, source.tool, source.id]);
}

/** Remembers the ids that entries have in their source; the newest entry of an id counts. */
export function rememberSourceIds(
  tx: Tx,
  { id }: SessionRow,
  entries: readonly JsonObject[],
  firstSeq: number,
): void {
  const ids = sourceIdsOf(entries, firstSeq);
  if (ids.size > 0) tx.run(REMEMBER, [id, [...ids.keys()], [...ids.values()]]);
}
