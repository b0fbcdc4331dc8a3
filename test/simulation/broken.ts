import type { Inbox, InboxItem } from '../../src/exports/store.ts';
import type { Store } from '../../src/index.ts';
import type { TurnPlan } from '../../src/store/port/turns.ts';

/** A store whose named methods do something else. */
export function over(store: Store, methods: Partial<Store>, inbox: Partial<Inbox> = {}): Store {
  const instead = (target: object, own: object): object =>
    new Proxy(target, {
      get(_, name) {
        if (name in own) return Reflect.get(own, name);
        const member: unknown = Reflect.get(target, name);
        return typeof member === 'function' ? member.bind(target) : member;
      },
    });
  return instead(store, { ...methods, inbox: instead(store.inbox, inbox) }) as Store;
}

/** What goes wrong in each: what a judge that lets it pass would be worth nothing for. */
export const BROKEN: Readonly<Record<string, (store: Store) => Store>> = {
  'a message that was answered runs again': (store) => {
    const ghosts = new Map<string, InboxItem>();
    return over(
      store,
      {
        turns: {
          async begin(id, plan) {
            const ghost = ghosts.get(id);
            if (ghost === undefined || plan.lead !== ghost.inboxId) return store.turns.begin(id, plan);
            ghosts.delete(id);
            const lease = 'epoch' in plan.lease ? undefined : await store.lease(id, { waitMs: 0 });
            const record = await store.get(id);
            const { epoch } = lease ?? record;
            const lead: InboxItem = { ...ghost, state: 'running' };
            return { epoch, record, lead, receipts: [], ...(lease !== undefined && { lease }) };
          },
          async end(turn, entries, options) {
            const end = await store.turns.end(turn, entries, options);
            const [ended] = options.settle ?? [];
            if (ended?.state === 'done') ghosts.set(turn.sessionId, await store.inbox.get(ended.inboxId));
            return end;
          },
        },
      },
      {
        async pending(query) {
          const rows = await store.inbox.pending(query);
          const ghost = typeof query === 'string' ? ghosts.get(query) : undefined;
          return ghost === undefined ? rows : [...rows, { ...ghost, state: 'accepted' }];
        },
      },
    );
  },
  'a message is acknowledged and not kept': (store) => {
    let count = 0;
    return over(
      store,
      {},
      {
        async receive(inbound) {
          const receipt = await store.inbox.receive(inbound);
          count++;
          return count % 20 === 0 ? { ...receipt, inboxId: `${receipt.inboxId.slice(0, -4)}0000` } : receipt;
        },
      },
    );
  },
  'the end of a message is forgotten': (store) => {
    let count = 0;
    return over(store, {
      turns: {
        async begin(id, plan) {
          const rows = plan.openRows.filter(({ state }) => state !== 'running');
          return rows.length === plan.openRows.length ? store.turns.begin(id, plan) : { openRows: [] };
        },
        async end(turn, entries, { settle = [], ...options }) {
          const kept = settle.filter(() => ++count % 20 !== 0);
          return store.turns.end(turn, entries, { ...options, settle: kept });
        },
      },
    });
  },
  'people of one agent share a session': (store) =>
    over(
      store,
      {},
      {
        async receive(inbound) {
          const [, agent = 'main'] = inbound.sessionKey.split(':');
          return store.inbox.receive({ ...inbound, sessionKey: `agent:${agent}:main` });
        },
      },
    ),
  'the history of another is read': (store) => {
    let last: string | undefined;
    let count = 0;
    return over(store, {
      async tail(id) {
        const other = last;
        last = id;
        return store.tail(++count % 10 === 0 && other !== undefined ? other : id);
      },
    });
  },
  'what was said last comes first': (store) =>
    over(
      store,
      {},
      {
        pending: async (query) => [...(await store.inbox.pending(query))].reverse(),
      },
    ),
  'nobody looks at epochs': (store) =>
    over(
      store,
      {
        async append(id, entries, { epoch, ...options } = {}) {
          if (epoch === undefined) return store.append(id, entries, options);
          const { epoch: current } = await store.get(id);
          const isHeld = (await store.leases()).some(({ sessionId }) => sessionId === id);
          return store.append(id, entries, { ...options, ...(isHeld && { epoch: current }) });
        },
        turns: {
          async begin(id, plan) {
            const { epoch } = await store.get(id);
            const isHeld = (await store.leases()).some(({ sessionId }) => sessionId === id);
            const lease: TurnPlan['lease'] = isHeld ? { epoch } : {};
            return store.turns.begin(id, 'epoch' in plan.lease ? { ...plan, lease } : plan);
          },
          async end({ sessionId }, entries, options) {
            const { epoch } = await store.get(sessionId);
            const isHeld = (await store.leases()).some((lease) => lease.sessionId === sessionId);
            if (isHeld) return store.turns.end({ sessionId, epoch }, entries, options);
            const { release: _, ...rest } = options;
            return { ...(await store.append(sessionId, entries, rest)), rows: [], released: false };
          },
        },
      },
      {
        async take(id, options) {
          const { epoch } = await store.get(id);
          return store.inbox.take(id, { ...options, epoch });
        },
      },
    ),
};
