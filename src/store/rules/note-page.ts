import type { JsonObject } from '../../transcript/json.ts';
import type { Note, NotePage } from '../port/notes.ts';

/** A row of `notes`, the same in every database. */
export interface NoteRow {
  readonly session_id: string;
  readonly seq: number;
  readonly value: string;
}

export const NOTES_PER_PAGE = 1000;

/** Makes a page; `rows` has one row more than the page if there is a next one. */
export function notePage(rows: readonly NoteRow[], size: number): NotePage {
  const page = rows.slice(0, size);
  return {
    notes: page.map(toNote),
    next: rows.length > size ? (page.at(-1)?.session_id ?? null) : null,
  };
}

export function toNote({ session_id: id, seq, value }: NoteRow): Note {
  return { id, seq, value: JSON.parse(value) as JsonObject };
}
