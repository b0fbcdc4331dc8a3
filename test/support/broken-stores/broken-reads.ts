import type * as port from '../../../src/store/port/store.ts';
import type { PlainStore } from '../plain-store/plain-store.ts';
import { type BrokenStore, broken } from './broken-store.ts';

/** Faults of reading: pages, tails, watches and live events. */
export const brokenReads: readonly BrokenStore[] = [
  broken(
    'skips one session between the pages of a list',
    'the pages of a list contain every session once',
    (_store, right) => ({
      list: async (query) => {
        const page = await right.list(query);
        return query?.cursor === undefined ? page : { ...page, sessions: page.sessions.slice(1) };
      },
    }),
  ),
  broken(
    'reads backwards off by one',
    'reading backward in pages of any size returns every line once, the last one first',
    (_store, right) => ({
      read: (id, range = {}) =>
        right.read(id, range.from === undefined ? range : { ...range, from: range.from - back(range) }),
    }),
  ),
  broken(
    'drops the first kept entry from the tail',
    'after a compaction the tail has the kept entries and everything after it',
    (_store, right) => ({
      tail: async (id) => {
        const page = await right.tail(id);
        const compacted = page.entries.some(({ entry }) => entry.type === 'compaction');
        return compacted ? { ...page, entries: page.entries.slice(1) } : page;
      },
    }),
  ),
  broken(
    'takes the last compaction of the file for the one in force',
    'undoing a compaction restores the old context in the tail',
    (store, right) => ({
      tail: async (id) => {
        const page = await right.tail(id);
        const all = store.stored(store.find(id));
        const last = all.findLast(({ entry }) => entry.type === 'compaction');
        return last === undefined ? page : { ...page, entries: all.slice(last.seq - 1) };
      },
    }),
  ),
  broken(
    'watches from the first read on and misses what came before it',
    'a watcher misses nothing appended before its first read',
    (store, right) => ({
      watch: (id, options) => {
        const { length } = store.find(id).lines;
        return (async function* () {
          const late = store.find(id).lines.length;
          for await (const stored of right.watch(id, options)) {
            if (stored.seq <= length || stored.seq > late) yield stored;
          }
        })();
      },
    }),
  ),
  broken(
    'keeps what was published for listeners to come',
    'a listener receives events published after it started, in order',
    (_store, right) => {
      const kept: [string, Parameters<PlainStore['publish']>[1]][] = [];
      return {
        publish: async (id, event) => {
          kept.push([id, event]);
          await right.publish(id, event);
        },
        live: (id, options) => {
          const heard = right.live(id, options);
          for (const [to, event] of kept) void right.publish(to, event);
          return heard;
        },
      };
    },
  ),
  broken(
    'begins to listen with the first look',
    'a listener receives events published after it started, in order',
    (_store, right) => ({
      live: (id, options) =>
        (async function* () {
          yield* right.live(id, options);
        })(),
    }),
  ),
  broken(
    'sends every listener all events',
    'every listener of a session receives the events of that session only',
    (store, right) => ({
      publish: async (id, event) => {
        await right.publish(id, event);
        for (const other of store.data.sessions.values())
          if (other.id !== id) await right.publish(other.id, event);
      },
    }),
  ),
  broken('writes published events down', 'published events are not stored', (store, right) => ({
    publish: async (id, event) => {
      await right.publish(id, event);
      await store.append(id, [{ type: 'custom', customType: 'reprise.delta', data: event }]);
    },
  })),
  broken(
    'passes on events of any size',
    'an event that is too large or not JSON is refused, with or without a listener',
    (_store, right) => ({
      publish: (id, event) =>
        right.publish(id, event).catch((error: { readonly code?: string }) => {
          if (error.code !== 'LIMIT_EXCEEDED') throw error;
        }),
    }),
  ),
  broken(
    'keeps everything for a slow listener',
    'a slow listener loses the oldest events, gets their number, and receives the newest',
    () => ({ hear: (ear, text) => void ear.waiting.push(text) }),
  ),
  broken(
    'drops events in silence',
    'a slow listener loses the oldest events, gets their number, and receives the newest',
    (_store, right) => ({
      hear: (ear, text) => {
        right.hear(ear, text);
        ear.missed = 0;
      },
    }),
  ),
  broken(
    'drops the newest for a slow listener',
    'a slow listener loses the oldest events, gets their number, and receives the newest',
    () => ({
      hear: (ear, text) => {
        if (ear.waiting.length < 500) ear.waiting.push(text);
        else ear.missed++;
      },
    }),
  ),
];

function back({ direction }: port.ReadRange): number {
  return direction === 'backward' ? 1 : 0;
}
