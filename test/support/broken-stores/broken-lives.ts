import { type BrokenStore, broken } from './broken-store.ts';

const RECOUNT =
  'only the lease holder can uncount an attempt that could not begin, and the message keeps its place';

/** Mistakes in the lives of sessions: who holds them, what waits in them, how they end. */
export const brokenLives: readonly BrokenStore[] = [
  // Leases
  broken('ignores the epoch', 'an append with the epoch of an earlier holder is fenced', () => ({
    checkEpoch: () => {},
  })),
  broken(
    'lets anyone move the leaf of a held session',
    'while a session is held, only the holder may move the leaf',
    (_store, right) => ({
      checkEpoch: (session, entries, epoch) => right.checkEpoch(session, entries, epoch ?? session.epoch),
    }),
  ),
  broken(
    'keeps everyone else from noting facts about a held session',
    'any caller may append side entries to a held session',
    (_store, right) => ({
      checkEpoch: (session, _entries, epoch) => right.checkEpoch(session, [{ type: 'message' }], epoch),
    }),
  ),
  broken('reuses an epoch', 'every grant has a higher epoch than any before, also after reopening', () => ({
    nextEpoch: ({ epoch }) => Math.max(1, epoch),
  })),
  broken(
    'grants a session twice',
    'a held session is refused with the name of its holder',
    (store, right) => ({
      lease: async (id, options) => {
        delete store.find(id).holder;
        return right.lease(id, options);
      },
    }),
  ),
  broken(
    'releases a lease although a message waits',
    'a lease is not released while an accepted message waits',
    (_store, right) => ({
      lease: async (id, options) => {
        const lease = await right.lease(id, options);
        return { ...lease, release: async () => (await lease[Symbol.asyncDispose]()) ?? null };
      },
    }),
  ),

  // The inbox
  broken(
    'gives a message twice',
    'accepted messages are taken oldest first, each once',
    ({ data }, right) => ({
      take: (sessionId, epoch) => {
        const item = right.take(sessionId, epoch);
        if (item?.attempts === 1) data.items.set(item.inboxId, { ...item, state: 'accepted' });
        return item;
      },
    }),
  ),
  broken(
    'drops accepted messages on reopen',
    'accepted messages survive closing and reopening the store',
    ({ data }) => ({ onReopen: () => data.items.clear() }),
  ),
  broken('counts what could not begin', RECOUNT, () => ({ recount: () => {} })),
  broken('lets anyone say how often a message was tried', RECOUNT, (store, right) => ({
    recount: (sessionId, options) =>
      right.recount(sessionId, { ...options, epoch: store.find(sessionId).epoch }),
  })),
  broken('lets anyone take a message', 'only the lease holder may take a message', (store, right) => ({
    take: (sessionId) => right.take(sessionId, store.find(sessionId).epoch),
  })),
  broken('forgets message keys on reopen', 'a message sent twice is accepted once', ({ data }) => ({
    onReopen: () => data.inbound.clear(),
  })),
  broken(
    'takes the message keys of all sources for one',
    'message keys are separate for each source and agent',
    (_store, right) => ({ receive: (inbound) => right.receive({ ...inbound, source: 'any' }) }),
  ),
  broken('lets the last settlement win', 'the first final state of a message stays', ({ data }) => ({
    settle: (inboxId, state, detail = {}) => {
      const item = data.items.get(inboxId);
      if (item !== undefined) data.items.set(inboxId, { ...item, state, detail });
    },
  })),
  broken(
    'resets by deleting the old session',
    'a reset starts a new session and keeps the old one',
    (store, right) => ({
      receive: (inbound) => {
        const old = store.data.active.get(inbound.sessionKey);
        const receipt = right.receive(inbound);
        if (old !== undefined && old !== receipt.sessionId) store.find(old).deleted = true;
        return receipt;
      },
    }),
  ),

  // Life and death
  broken(
    'leaves the key of a deleted session active',
    'a key of a deleted session has no active session',
    () => ({ freeKey: () => {} }),
  ),
  broken(
    'gives a restored session its key back, even if another one has it now',
    'a restored session does not take its key from another',
    (store, right) => ({
      restore: async (id) => store.activate((await right.restore(id)).sessionKey, id),
    }),
  ),
  broken(
    'forgets the id of a purged session',
    'a purged session is gone permanently, and its id stays taken',
    ({ data }, right) => ({
      purge: async (id) => {
        const receipt = await right.purge(id);
        data.purged.clear();
        return receipt;
      },
    }),
  ),
  broken(
    'changes what was not seen',
    'a change with a precondition succeeds, or is refused if the session has changed',
    () => ({ checkSeen: () => {} }),
  ),
  broken(
    'looks whether it was seen, and writes a moment later',
    'of several callers with the same precondition, one succeeds',
    (store, right) => ({
      patch: async (id, settings, { ifSeen, ...options } = {}) => {
        store.checkSeen(store.find(id), ifSeen === undefined ? {} : { ifSeen });
        await new Promise((resolve) => setImmediate(resolve));
        return right.patch(id, settings, options);
      },
    }),
  ),
  broken(
    'takes a session whose key another has for unchanged',
    'a precondition fails after a new entry, and after another session takes the key',
    (store, right) => ({
      checkSeen: (session, { ifSeen }) =>
        right.checkSeen(
          session,
          ifSeen === undefined
            ? {}
            : { ifSeen: { ...ifSeen, active: store.data.active.get(session.key) === session.id } },
        ),
    }),
  ),
  broken(
    'names a session although its settings are refused',
    'a title and settings are one change, and a title alone is one line',
    (_store, right) => ({
      patch: async (id, settings, { title, ...options } = {}) => {
        if (title !== undefined) await right.append(id, [{ type: 'session_info', name: title }]);
        return right.patch(id, settings, options);
      },
    }),
  ),
];
