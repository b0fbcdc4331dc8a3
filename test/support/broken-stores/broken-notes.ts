import type { Notes } from '../../../src/store/port/notes.ts';
import { type BrokenStore, broken } from './broken-store.ts';

/** Notes that are right but for one mistake. */
function brokenNotes(name: string, caughtBy: string, mistake: (right: Notes) => Partial<Notes>): BrokenStore {
  return broken(name, caughtBy, (_store, { notes }) => ({
    notes: {
      list: (...args) => notes.list(...args),
      get: (...args) => notes.get(...args),
      put: (...args) => notes.put(...args),
      ...mistake(notes),
    },
  }));
}

const KEPT = 'a session has one note of each name';

export const brokenNoteStores: readonly BrokenStore[] = [
  brokenNotes('keeps the first note of a session', KEPT, (right) => ({
    put: async (name, notes) => {
      for (const note of notes)
        if ((await right.get(name, note.id)) === undefined) await right.put(name, [note]);
    },
  })),
  brokenNotes('has one note of a session, whatever its name', KEPT, (right) => ({
    put: (_name, notes) => right.put('all', notes),
    get: (_name, id) => right.get('all', id),
  })),
  brokenNotes(
    'skips a note at the edge of a page',
    'the pages of notes contain every note of a name once',
    (right) => ({
      list: async (name, options) => {
        const page = await right.list(name, options);
        return options?.after === undefined ? page : { ...page, notes: page.notes.slice(1) };
      },
    }),
  ),
  brokenNotes(
    'keeps notes of sessions that are not there',
    'purged and missing sessions have no notes',
    (right) => {
      const kept = new Map<string, { id: string; seq: number; value: object }>();
      return {
        put: async (name, notes) => {
          await right.put(name, notes);
          for (const note of notes) kept.set(note.id, note);
        },
        list: async () => ({ notes: [...kept.values()] as never, next: null }),
      };
    },
  ),
];
