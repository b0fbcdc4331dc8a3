import type { Note, NoteListOptions, NotePage } from '../../port/notes.ts';
import { pageSize } from '../../rules/list-cursor.ts';
import { NOTES_PER_PAGE, type NoteRow, notePage, toNote } from '../../rules/note-page.ts';
import type { Database } from '../database.ts';
import type { Batch } from './batch.ts';

export function listNotes(
  db: Database,
  { name, after = '', limit = NOTES_PER_PAGE }: { readonly name: string } & NoteListOptions,
): NotePage {
  const size = pageSize(limit);
  const rows = db.rows<NoteRow>(
    'SELECT session_id, seq, value FROM notes WHERE name = ? AND session_id > ? ORDER BY session_id LIMIT ?',
    name,
    after,
    size + 1,
  );
  return notePage(rows, size);
}

export function getNote(
  db: Database,
  { name, id }: { readonly name: string; readonly id: string },
): Note | undefined {
  const sql = 'SELECT session_id, seq, value FROM notes WHERE name = ? AND session_id = ?';
  const row = db.row<NoteRow>(sql, name, id);
  return row === undefined ? undefined : toNote(row);
}

export function putNotes(
  { db }: Batch,
  { name, notes }: { readonly name: string; readonly notes: readonly Note[] },
): void {
  for (const { id, seq, value } of notes) {
    db.run(
      `INSERT OR REPLACE INTO notes (name, session_id, seq, value)
       SELECT ?, id, ?, ? FROM sessions WHERE id = ? COLLATE BINARY`,
      name,
      seq,
      JSON.stringify(value),
      id,
    );
  }
}
