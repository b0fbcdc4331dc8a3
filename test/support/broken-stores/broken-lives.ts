import { type BrokenStore, broken } from './broken-store.ts';

const RECOUNT =
  'a try that could not begin is not counted, by its holder alone, and the message stays where it is';

/** Mistakes in the lives of sessions: who holds them, what waits in them, how they end. */
export const brokenLives: readonly BrokenStore[] = [
  // Leases
  broken('ignores the epoch', 'an append with the epoch of an earlier holder is fenced', () => ({
    checkEpoch: () => {},
  })),
  broken(
    'lets anyone move the leaf of a held session',
    'while somebody holds the session, only the holder may move the leaf',
    (_store, right) => ({
      checkEpoch: (session, entries, epoch) => right.checkEpoch(session, entries, epoch ?? session.epoch),
    }),
  ),
  broken(
    'keeps everyone else from noting facts about a held session',
    'facts about a held session may be noted by anyone',
    (_store, right) => ({
      checkEpoch: (session, _entries, epoch) => right.checkEpoch(session, [{ type: 'message' }], epoch),
    }),
  ),
  broken(
    'reuses an epoch',
    'every grant has a higher epoch than any before, also after opening again',
    () => ({ nextEpoch: ({ epoch }) => Math.max(1, epoch) }),
  ),
  broken(
    'grants a session twice',
    'a held session is refused to the next, who is told the holder',
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
    'accepted messages survive closing and opening again',
    ({ data }) => ({ onReopen: () => data.items.clear() }),
  ),
  broken('counts what could not begin', RECOUNT, () => ({ recount: () => {} })),
  broken('lets anyone say how often a message was tried', RECOUNT, (store, right) => ({
    recount: (sessionId, options) =>
      right.recount(sessionId, { ...options, epoch: store.find(sessionId).epoch }),
  })),
  broken('lets anyone take a message', 'only the holder of the lease may take', (store, right) => ({
    take: (sessionId) => right.take(sessionId, store.find(sessionId).epoch),
  })),
  broken('forgets message keys on reopen', 'a message sent twice is accepted once', ({ data }) => ({
    onReopen: () => data.inbound.clear(),
  })),
  broken(
    'takes the message keys of all sources for one',
    'message keys of other sources and other agents are other keys',
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
    'gives a restored session its key back, whoever has it now',
    'a restored session does not take its key from another',
    (store, right) => ({
      restore: async (id) => store.activate((await right.restore(id)).sessionKey, id),
    }),
  ),
  broken(
    'forgets the id of a purged session',
    'a purged session is gone for good, and its id stays taken',
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
    'a change is made to what was seen, and refused where that has changed since',
    () => ({ checkSeen: () => {} }),
  ),
  broken(
    'looks whether it was seen, and writes a moment later',
    'of those who have seen the same one changes it',
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
    'a session has changed when something was said, and when another took its key',
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
