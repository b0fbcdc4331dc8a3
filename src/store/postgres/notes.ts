import { parseSessionId } from '../../keys/ids.ts';
import type { Notes } from '../port/notes.ts';
import { checkNoteName, checkNotes } from '../rules/check-input.ts';
import { pageSize } from '../rules/list-cursor.ts';
import { NOTES_PER_PAGE, type NoteRow, notePage, toNote } from '../rules/note-page.ts';
import { type StoreContext, transaction } from './connection/transaction.ts';

const COLUMNS = 'session_id, seq, value';

/**
 * Writes in the order of ids, so that concurrent writers cannot deadlock. The lock on the sessions waits for a
 * running purge; the purged session is then missing and gets no note.
 */
const PUT = `INSERT INTO reprise.notes (name, session_id, seq, value)
  SELECT $1, n.id, n.seq, n.value FROM unnest($2::text[], $3::bigint[], $4::text[]) AS n (id, seq, value)
  JOIN reprise.sessions AS s ON s.id = n.id ORDER BY n.id FOR KEY SHARE OF s
  ON CONFLICT (session_id, name) DO UPDATE SET seq = excluded.seq, value = excluded.value`;

export function postgresNotes(context: StoreContext): Notes {
  const { connections } = context;
  return {
    list: async (name, { after = '', limit = NOTES_PER_PAGE } = {}) => {
      const size = pageSize(limit);
      const rows = await connections.query<NoteRow>(
        `SELECT ${COLUMNS} FROM reprise.notes WHERE name = $1 AND session_id > $2 ORDER BY session_id LIMIT $3`,
        [checkNoteName(name), after, size + 1],
      );
      return notePage(rows, size);
    },
    get: async (name, id) => {
      const [row] = await connections.query<NoteRow>(
        `SELECT ${COLUMNS} FROM reprise.notes WHERE session_id = $1 AND name = $2`,
        [parseSessionId(id), checkNoteName(name)],
      );
      return row === undefined ? undefined : toNote(row);
    },
    put: async (name, notes) => {
      // Of several notes for one session the last one counts, as in all stores.
      const last = [...new Map(checkNotes(notes).map((note) => [note.id, note])).values()];
      const values = [
        checkNoteName(name),
        last.map(({ id }) => id),
        last.map(({ seq }) => seq),
        last.map(({ value }) => JSON.stringify(value)),
      ];
      await transaction(context, async (tx) => tx.run(PUT, values));
    },
  };
}
