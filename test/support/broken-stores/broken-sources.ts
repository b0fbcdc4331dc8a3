import { type BrokenStore, broken } from './broken-store.ts';

/** Mistakes with the users and sources of sessions. */
export const brokenSources: readonly BrokenStore[] = [
  broken(
    'gives a session that was made from another one to nobody',
    'a session belongs to the user it was created for, and so do sessions made from it',
    (_store, right) => ({
      create: async ({ parentId, ...init }) => {
        const { id } = await right.create(init);
        return { ...(await right.get(id)), ...(parentId !== undefined && { parentId }) };
      },
    }),
  ),
  broken(
    'lists the sessions of all users',
    'a list of one user has the sessions of that user only',
    (_store, right) => ({ list: ({ owner: _owner, ...query } = {}) => right.list(query) }),
  ),
  broken(
    'lets an append give a session to another user',
    'an append or another message cannot change the user of a session',
    (store, right) => ({
      append: async (id, entries, options) => {
        const claim = entries.find(({ type }) => type === 'custom');
        if (claim?.['customType'] !== 'reprise.origin') return right.append(id, entries, options);
        return store.write(store.find(id), entries, '');
      },
    }),
  ),
  broken(
    'imports a source twice',
    'an imported session is found by its source, and a second import returns it',
    (store, right) => ({
      create: async (init) => {
        if (init.source === undefined) return right.create(init);
        const { source, ...rest } = init;
        const known = await right.sources.find(source);
        return right.create(
          known === undefined ? init : { ...rest, settings: { imported: store.options.newId() } },
        );
      },
    }),
  ),
  broken(
    'skips a source at the edge of a page',
    'the pages of sources contain every imported session of a tool once',
    (_store, { sources }) => ({
      sources: {
        find: (...args) => sources.find(...args),
        of: (...args) => sources.of(...args),
        mark: (...args) => sources.mark(...args),
        entries: (...args) => sources.entries(...args),
        list: async (options) => {
          const page = await sources.list(options);
          return options?.after === undefined ? page : { ...page, sources: page.sources.slice(1) };
        },
      },
    }),
  ),
  broken(
    'finds the first of several entries with one source id',
    'an imported entry is found by its id in the source, the newest if there are several',
    (store, { sources }) => ({
      sources: {
        find: (...args) => sources.find(...args),
        of: (...args) => sources.of(...args),
        list: (...args) => sources.list(...args),
        mark: (...args) => sources.mark(...args),
        entries: async (id, ids) => {
          const found = await sources.entries(id, ids);
          const lines = found.size === 0 ? [] : store.stored(store.find(id));
          const first = (sourceId: string): number =>
            lines.find(({ entry }) => 'sourceId' in entry && entry['sourceId'] === sourceId)?.seq ?? 0;
          return new Map([...found.keys()].map((sourceId) => [sourceId, first(sourceId)]));
        },
      },
    }),
  ),
  broken(
    'forgets the source of a session in the trash',
    'a source is free again when its session is purged, not before',
    (store, { sources }) => ({
      sources: {
        of: (...args) => sources.of(...args),
        list: (...args) => sources.list(...args),
        mark: (...args) => sources.mark(...args),
        entries: (...args) => sources.entries(...args),
        find: async (source) => {
          const found = await sources.find(source);
          return found === undefined || store.find(found.sessionId).deleted ? undefined : found;
        },
      },
    }),
  ),
  broken(
    'takes a source id that no index can hold',
    'invalid owners, sources and source ids are refused',
    (_store, right) => ({
      append: (id, entries, options) =>
        right.append(
          id,
          entries.map(({ sourceId: _id, ...entry }) => entry),
          options,
        ),
    }),
  ),
  broken(
    'counts the attempts of before the wait',
    'a message that waits for a person rests until it is taken by its id',
    (store, right) => ({
      settle: (inboxId, state, detail) => {
        const { attempts } = store.data.items.get(inboxId) ?? { attempts: 0 };
        right.settle(inboxId, state, detail);
        const item = store.data.items.get(inboxId);
        if (item !== undefined) store.data.items.set(inboxId, { ...item, attempts });
      },
    }),
  ),
  broken(
    'hands out a message that waits for a person',
    'a message that waits for a person rests until it is taken by its id',
    (store, right) => ({
      take: (sessionId, epoch, orphans) => {
        const waiting = store.pending({ sessionId }).find(({ state }) => state === 'waiting');
        return waiting === undefined
          ? right.take(sessionId, epoch, orphans)
          : right.takeThis(sessionId, epoch, waiting.inboxId);
      },
    }),
  ),
];
