import { RepriseError } from '../../../src/errors.ts';
import type * as port from '../../../src/store/port/inbox.ts';
import type { Lease } from '../../../src/store/port/store.ts';
import type { PlainStore } from '../plain-store/plain-store.ts';
import { type BrokenStore, broken } from './broken-store.ts';

const ONE_RESET = 'messages that see the same session expire reset it once';
const CARRIED = 'a reset carries all settings over except those it forgets';
const LINKED = 'a reset links both sessions and records its reason';
const UNDONE = 'a refused reset changes nothing';
const MADE = 'a message can set the settings of the session it creates';
const REFUSES_NEW = 'a full queue refuses the newest message and stores nothing of it';
const DROPS_OLD = 'a full queue drops the oldest message, and its sender can see why';
const SUMMARISED = 'with summarize, a dropped message is carried by the next waiting one';
const CAP_OF_ONE = 'with a cap of one, the newest message carries all earlier ones';
const EXEMPT =
  'only waiting messages count for the cap: no system messages, commands, running messages or other sessions';
const COMMANDS = 'a command runs in the process that received it and is never taken by a runner';
const IDLE = 'a message that asks for an idle session is refused by a busy one';
const GROUPS = 'a group never exceeds its limit of open messages, even with concurrent senders';
const LONG_NAMES = 'a name may be as long as the limit, in any script';
const GROUP_NAMES = 'the length of a group name is limited';
const KNOWN = 'the item of a message key can be looked up';
const SETTLES = 'a message ends together with the append that answers it, or neither happens';
const RETRIES = 'a retry of a successful append also ends its messages, and a final state stays';
const DELIVERS_TO_ITSELF = 'an append may deliver to its own session: an undo and the new message are atomic';
const DELIVERS = 'a message delivered with an append is accepted with it, exactly once';
const ALL_OR_NOTHING =
  'a refused append delivers nothing, and an append with a refused delivery is not stored';
const NOBODY = 'a delivery to a missing session does not fail the append';
const BY_ID = 'a waiting message can be taken by its id';
const HAND_OVER = 'a lease can be handed over while messages wait';
const WATCHED = 'an inbox watch reports every session with an accepted or ended message';
const FROM_THE_CALL = 'an inbox watch starts with the call and ends with its signal or its store';

/** A message as it would be without some of what it asks for. */
function without(inbound: port.Inbound, ...names: (keyof port.Inbound)[]): port.Inbound {
  return Object.fromEntries(
    Object.entries(inbound).filter(([name]) => !names.includes(name as keyof port.Inbound)),
  ) as unknown as port.Inbound;
}

const receives =
  (change: (inbound: port.Inbound) => port.Inbound) =>
  (_store: PlainStore, right: PlainStore): Partial<PlainStore> => ({
    receive: (inbound) => right.receive(change(inbound)),
  });

const makes =
  (change: (inbound: port.Inbound) => port.Inbound) =>
  (_store: PlainStore, right: PlainStore): Partial<PlainStore> => ({
    makeFor: (key, inbound, replaced) => right.makeFor(key, change(inbound), replaced),
  });

/** Only waits for changes; `other` is the inbox of the same store as it should be. */
const inboxWith = (store: PlainStore, change: Partial<port.Inbox>): { inbox: port.Inbox } => ({
  inbox: { ...store.inbox, ...change },
});

/** Mistakes of the inbox, and of what an append does to it. */
export const brokenInboxes: readonly BrokenStore[] = [
  broken('refuses a message whose session key no index takes', LONG_NAMES, (_, right) => ({
    receive: (inbound) => {
      if (Buffer.byteLength(inbound.sessionKey) > 2704)
        throw new RepriseError('STORE_FAILED', 'index row size exceeds maximum');
      return right.receive(inbound);
    },
  })),
  broken('cuts the name of a group', GROUP_NAMES, (_, right) => ({
    checkGroup: ({ name, ...rest }) => right.checkGroup({ ...rest, name: name.slice(0, 256) }),
  })),
  // Resets
  broken(
    'resets for every caller that saw the session expire',
    ONE_RESET,
    receives((inbound) =>
      inbound.reset === undefined ? inbound : { ...inbound, reset: { reason: inbound.reset.reason } },
    ),
  ),
  broken(
    'never does a reset that names its session',
    ONE_RESET,
    receives((inbound) => (inbound.reset?.from === undefined ? inbound : without(inbound, 'reset'))),
  ),
  broken('starts without the settings', CARRIED, () => ({ carried: () => ({}) })),
  broken('carries over what should be forgotten', CARRIED, (_store, right) => ({
    carried: (old) => right.carried(old),
  })),
  broken(
    'ignores settings of the new session',
    CARRIED,
    makes((inbound) => without(inbound, 'create')),
  ),
  broken('does not say where the conversation went on', LINKED, (_store, right) => ({
    write: (session, entries, hash, key) => {
      const isNote = entries.some(({ customType }) => customType === 'reprise.reset');
      return isNote ? { firstSeq: 1, lastSeq: 1 } : right.write(session, entries, hash, key);
    },
  })),
  broken('forgets where a conversation came from', LINKED, (_store, right) => ({
    makeFor: (key, inbound) => right.makeFor(key, inbound),
  })),
  broken(
    'forgets why it was reset',
    LINKED,
    makes((inbound) => (inbound.reset === undefined ? inbound : { ...inbound, reset: { reason: '' } })),
  ),
  broken(
    'calls the new session as it likes',
    MADE,
    makes((inbound) => ({ ...inbound, create: { ...inbound.create, id: 'my-own' } })),
  ),
  broken('gives a session that is there what was meant for a new one', MADE, (store, right) => ({
    receive: (inbound) => {
      const receipt = right.receive(inbound);
      if (receipt.created === undefined && inbound.create?.settings !== undefined)
        void store.patch(receipt.sessionId, inbound.create.settings);
      return receipt;
    },
  })),
  broken('frees the key before it knows that it can reset', UNDONE, (store, right) => ({
    receive: (inbound) => {
      if (inbound.reset !== undefined && inbound.idempotencyKey !== undefined)
        store.data.active.delete(inbound.sessionKey);
      return right.receive(inbound);
    },
  })),

  // Queues
  broken('has no cap', REFUSES_NEW, () => ({ makeRoom: () => ({ dropped: [], carries: [] }) })),
  broken('drops the oldest instead of refusing the newest', REFUSES_NEW, (_store, right) => ({
    makeRoom: (session, queue) => right.makeRoom(session, { ...queue, drop: 'old' }),
  })),
  broken('remembers the key of a message it refused', REFUSES_NEW, (store, right) => ({
    makeRoom: (session, queue) => {
      const name = JSON.stringify(['main', 's', 'm4']);
      const [inboxId = ''] = store.data.items.keys();
      store.data.inbound.set(name, { hash: '', inboxId });
      return right.makeRoom(session, queue);
    },
  })),
  broken('drops one where the cap asks for two', DROPS_OLD, (store, right) => ({
    makeRoom: (session, queue) => {
      const { length } = store.pending({ sessionId: session.id });
      return right.makeRoom(session, { ...queue, cap: Math.max(queue.cap, length) });
    },
  })),
  broken('drops without a word', DROPS_OLD, (_store, right) => ({
    settle: (inboxId, state, detail) =>
      state === 'dropped' ? right.settle(inboxId, state) : right.settle(inboxId, state, detail),
  })),
  broken('forgets what it dropped to be summarised', SUMMARISED, (_store, right) => ({
    makeRoom: (session, queue) => right.makeRoom(session, { ...queue, drop: 'old' }),
  })),
  broken('forgets what a dropped message carried', SUMMARISED, ({ data }, right) => ({
    makeRoom: (session, queue) => {
      for (const item of data.items.values()) data.items.set(item.inboxId, { ...item, carries: [] });
      return right.makeRoom(session, queue);
    },
  })),
  broken('carries nothing where nobody else waits', CAP_OF_ONE, (_store, right) => ({
    makeRoom: (session, queue) => ({ ...right.makeRoom(session, queue), carries: [] }),
  })),
  broken(
    'drops results of children',
    EXEMPT,
    receives((inbound) => (inbound.class === 'system' ? { ...inbound, class: 'message' } : inbound)),
  ),
  broken('counts what runs for the cap', EXEMPT, (store, right) => ({
    makeRoom: (session, queue) => {
      const running = store.pending({ sessionId: session.id }).filter(({ state }) => state === 'running');
      return right.makeRoom(session, { ...queue, cap: Math.max(1, queue.cap - running.length) });
    },
  })),
  broken(
    'lets a command wait',
    COMMANDS,
    receives((inbound) => (inbound.class === 'command' ? { ...inbound, class: 'system' } : inbound)),
  ),
  broken('takes commands for orphans', COMMANDS, (store, right) => ({
    take: (sessionId, epoch, orphans) => {
      const [item] = store.pending({ sessionId }).filter(({ state }) => state === 'running');
      return orphans === true && item !== undefined ? item : right.take(sessionId, epoch, orphans);
    },
  })),
  broken('takes any session for idle', IDLE, () => ({ checkIdle: () => {} })),
  broken('takes a session for idle whose message runs', IDLE, (store, right) => ({
    checkIdle: (session) => {
      const pending = store.pending({ sessionId: session.id });
      if (pending.some(({ state }) => state === 'accepted')) right.checkIdle(session);
    },
  })),
  broken('lets a group grow', GROUPS, () => ({ checkGroup: () => {} })),
  broken('counts a group before it has its turn', GROUPS, (store, right) => ({
    ...inboxWith(store, {
      receive: async (inbound) => {
        if (inbound.group !== undefined) right.checkGroup(inbound.group);
        await Promise.resolve();
        return right.receive({ ...inbound, ...(inbound.group && { group: { name: inbound.group.name } }) });
      },
    }),
  })),
  broken('takes all groups for one', GROUPS, (_store, right) => ({
    pending: ({ group, ...query }) => {
      const all = right.pending(query);
      return group === undefined ? all : all.filter((item) => item.group !== undefined);
    },
  })),
  broken('makes a session before it looks at the group', GROUPS, (store, right) => ({
    checkGroup: (group) => {
      try {
        right.checkGroup(group);
      } catch (error) {
        void store.create({ key: 'agent:main:subagent:too-many' });
        throw error;
      }
    },
  })),
  broken('knows keys of every source', KNOWN, (_store, right) => ({
    known: (key) => right.known({ ...key, source: 'telegram' }),
  })),
  broken('forgets a key when its message has ended', KNOWN, (_store, right) => ({
    known: (key) => {
      const item = right.known(key);
      return item?.state === 'done' ? undefined : item;
    },
  })),

  // What an append does to messages
  broken('settles before it checks the epoch', SETTLES, (store, right) => ({
    append: async (id, entries, options) => {
      for (const { inboxId, state } of options?.settle ?? []) store.settle(inboxId, state);
      return right.append(id, entries, options);
    },
  })),
  broken('settles after the append, and fails when it is too late', SETTLES, (store) => ({
    append: async (id, entries, options = {}) => {
      const receipt = store.land(store.find(id), entries, options);
      store.tell(options);
      return receipt;
    },
  })),
  broken('does not settle when the key is known', RETRIES, (store, right) => ({
    append: async (id, entries, options = {}) => {
      const isKnown = store.find(id).keys.has(options.key ?? '');
      const { settle: _settle, ...rest } = options;
      return right.append(id, entries, isKnown ? rest : options);
    },
  })),
  broken('delivers again with every retry', DELIVERS, (_store, right) => ({
    deliver: (inbound) => right.deliver(without(inbound, 'idempotencyKey')),
  })),
  broken('delivers nothing', DELIVERS, () => ({ deliver: () => {} })),
  broken('delivers to others only', DELIVERS_TO_ITSELF, (store, right) => ({
    append: (id, entries, { deliver = [], ...options } = {}) => {
      const others = deliver.filter(({ sessionId }) => sessionId !== id);
      return right.append.call(store, id, entries, { ...options, deliver: others });
    },
  })),
  broken('delivers before it checks the epoch', ALL_OR_NOTHING, (store, right) => ({
    append: async (id, entries, options = {}) => {
      for (const inbound of options.deliver ?? []) store.deliver(inbound);
      return right.append(id, entries, options);
    },
  })),
  broken('keeps an append whose delivery was refused', ALL_OR_NOTHING, () => ({
    atomically: (_session, work) => work(),
  })),
  broken('fails an append nobody waits for', NOBODY, (_store, right) => ({
    deliver: (inbound) => void right.receive(inbound),
  })),
  broken('gives up the other deliveries with the first', NOBODY, (_store, right) => ({
    tell: (options) => {
      try {
        for (const inbound of options.deliver ?? []) right.receive(inbound);
      } catch {
        // The mistake: the others are not tried.
      }
    },
  })),

  // Runners and watchers
  broken('takes the oldest, whichever was asked for', BY_ID, (_store, right) => ({
    takeThis: (sessionId, epoch) => right.take(sessionId, epoch),
  })),
  broken('takes by id what has ended', BY_ID, ({ data }, right) => ({
    takeThis: (sessionId, epoch, inboxId) => {
      const item = data.items.get(inboxId);
      return item?.state === 'cancelled' ? item : right.takeThis(sessionId, epoch, inboxId);
    },
  })),
  broken('lets anyone take by id', BY_ID, (store, right) => ({
    takeThis: (sessionId, _epoch, inboxId) => right.takeThis(sessionId, store.find(sessionId).epoch, inboxId),
  })),
  broken('keeps the lease of whoever has to go', HAND_OVER, (_store, right) => ({
    lease: async (id, options) => {
      const lease = await right.lease(id, options);
      return { ...lease, release: () => lease.release() };
    },
  })),
  broken('ends the messages it hands over', HAND_OVER, (store, right) => ({
    lease: async (id, options) => {
      const lease = await right.lease(id, options);
      const release: Lease['release'] = async (how) => {
        const answer = await lease.release(how);
        for (const { inboxId } of store.pending({ sessionId: id }))
          if (how?.handOver === true) store.settle(inboxId, 'cancelled');
        return answer;
      };
      return { ...lease, release };
    },
  })),
  broken('tells of accepted messages only', WATCHED, (store, right) => ({
    settle: (inboxId, state, detail) => {
      const { length } = store.data.changes;
      right.settle(inboxId, state, detail);
      store.data.changes.length = length;
    },
  })),
  broken('tells only of the session it heard of last', WATCHED, (store, right) => ({
    changed: (change) => {
      const { sessionId = change.sessionId } = store.data.changes.at(-1) ?? {};
      if (sessionId === change.sessionId) right.changed(change);
    },
  })),
  broken('names another message than the one that ended', WATCHED, (store, right) => ({
    changed: (change) => {
      const { inboxId = change.inboxId } = store.data.changes.at(-1) ?? {};
      right.changed(change.state === 'done' ? { ...change, inboxId } : change);
    },
  })),
  broken('reports a message that ended as accepted', WATCHED, (_, right) => ({
    changed: (change) => right.changed({ ...change, state: 'accepted' }),
  })),
  broken('watches an inbox from the first look on', FROM_THE_CALL, (store) =>
    inboxWith(store, {
      watch: ({ signal }) =>
        (async function* () {
          yield* store.watchInbox(store.data.changes.length, signal);
        })(),
    }),
  ),
];
