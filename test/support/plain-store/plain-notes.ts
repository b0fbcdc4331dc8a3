import { parseSessionId } from '../../../src/keys/ids.ts';
import type { Note, NoteListOptions, NotePage, Notes } from '../../../src/store/port/notes.ts';
import { checkNoteName, checkNotes } from '../../../src/store/rules/check-input.ts';

/** Notes as a map, without anything that makes them last. */
export class PlainNotes implements Notes {
  readonly notes: Map<string, Note>;
  readonly #isThere: (id: string) => boolean;

  constructor(notes: Map<string, Note>, isThere: (id: string) => boolean) {
    this.notes = notes;
    this.#isThere = isThere;
  }

  async list(name: string, { after = '', limit = 1000 }: NoteListOptions = {}): Promise<NotePage> {
    this.#isThere('');
    const prefix = `${checkNoteName(name)} `;
    const all = [...this.notes]
      .filter(([key, { id }]) => key.startsWith(prefix) && id > after && this.#isThere(id))
      .map(([, note]) => note)
      .sort((a, b) => (a.id < b.id ? -1 : 1));
    const page = all.slice(0, limit);
    return { notes: page, next: all.length > limit ? (page.at(-1)?.id ?? null) : null };
  }

  async get(name: string, id: string): Promise<Note | undefined> {
    this.#isThere('');
    return this.notes.get(`${checkNoteName(name)} ${parseSessionId(id)}`);
  }

  async put(name: string, notes: readonly Note[]): Promise<void> {
    this.#isThere('');
    for (const note of checkNotes(notes))
      if (this.#isThere(note.id)) this.notes.set(`${checkNoteName(name)} ${note.id}`, structuredClone(note));
  }
}
