import assert from 'node:assert/strict';
import { LIVE_EVENT_BYTES, type LiveEvent, type Store } from '../../src/store/port/store.ts';
import type { JsonObject } from '../../src/transcript/json.ts';
import { meanwhile, range, refused, session, within } from './kit.ts';
import type { StoreCase } from './store-case.ts';

/**
 * With `supports.live` = `none` a store accepts events without emitting them; all others emit at least in this store.
 */
const isHeard = ({ supports }: Store): boolean => supports.live !== 'none';

export const liveCases: readonly StoreCase[] = [
  {
    name: 'a listener receives events published after it started, in order',
    promise: 'P9: all clients see the same conversation live',
    area: 'live',
    async run({ store }) {
      const id = await session(store);
      await store.publish(id, { n: 0 });
      using listener = listen(store, id);
      for (const n of range(1, 20)) await store.publish(id, { n, delta: `\ud800 ${n}` });
      const heard = await listener.expect(isHeard(store) ? range(1, 20) : []);
      for (const { event, missed } of heard) {
        assert.deepEqual([event['delta'], missed], [`\ud800 ${event['n']}`, 0]);
      }
      const next = meanwhile(listener.next());
      await store.publish(id, { n: 21 });
      if (isHeard(store))
        assert.deepEqual((await within(next, 'event 21')).value, { event: { n: 21 }, missed: 0 });
    },
  },
  {
    name: 'every listener of a session receives the events of that session only',
    promise: 'P9: all clients see the same conversation',
    area: 'live',
    async run({ store }) {
      const [id, other] = [await session(store), await session(store)];
      using one = listen(store, id);
      using two = listen(store, id);
      using elsewhere = listen(store, other);
      for (const n of range(1, 5)) {
        await store.publish(id, { n });
        await store.publish(other, { n: n + 100 });
      }
      if (!isHeard(store)) return;
      for (const listener of [one, two]) await listener.expect(range(1, 5));
      await elsewhere.expect(range(101, 105));
    },
  },
  {
    name: 'published events are not stored',
    promise: 'P1: the history contains appended entries only',
    area: 'live',
    async run({ store, reopen }) {
      const id = await session(store, ['a']);
      const before = [await store.get(id), await store.exportSession(id)];
      for (const n of range(1, 10)) await store.publish(id, { n });
      assert.deepEqual([await store.get(id), await store.exportSession(id)], before);
      const reopened = await reopen();
      assert.deepEqual(await reopened.exportSession(id), before[1]);
      using listener = listen(reopened, id);
      await reopened.publish(id, { n: 11 });
      await listener.expect(isHeard(reopened) ? [11] : []);
    },
  },
  {
    name: 'an event that is too large or not JSON is refused, with or without a listener',
    promise: 'P4: events are bounded in size',
    area: 'live',
    async run({ store }) {
      const id = await session(store);
      const fitting = { n: 1, text: 'x'.repeat(LIVE_EVENT_BYTES - '{"n":1,"text":""}'.length) };
      const large = { text: 'é'.repeat(LIVE_EVENT_BYTES / 2) };
      const refuse = async (): Promise<void> => {
        assert.equal((await refused(store.publish(id, large), 'LIMIT_EXCEEDED')).details['limit'], 'event');
        await refused(store.publish(id, { n: Number.NaN }), 'INVALID_INPUT');
        await refused(store.publish(id, { at: new Date(0) }), 'INVALID_INPUT');
        await refused(store.publish(id, 'text' as unknown as JsonObject), 'INVALID_INPUT');
      };
      await refuse();
      using listener = listen(store, id);
      await refuse();
      await store.publish(id, fitting);
      const [heard] = await listener.expect(isHeard(store) ? [1] : []);
      if (heard !== undefined) assert.deepEqual(heard.event, fitting);
    },
  },
  {
    name: 'a slow listener loses the oldest events, gets their number, and receives the newest',
    promise: 'P4: a blocked listener uses a bounded amount of memory',
    area: 'live',
    async run({ store }) {
      const id = await session(store);
      using listener = listen(store, id);
      const count = 20_000;
      const text = 'x'.repeat(1000);
      for (const n of range(1, count)) await store.publish(id, { n, text });
      if (!isHeard(store)) return;
      let last = 0;
      let lost = 0;
      while (last < count) {
        const { value } = await within(listener.next(), 'what is left');
        const { event, missed } = value as LiveEvent;
        assert.equal(event['n'], last + missed + 1, 'missed says what is not there');
        last = Number(event['n']);
        lost += missed;
      }
      assert.ok(lost > count / 2, `only ${lost} of ${count} events were let go`);
    },
  },
  {
    name: 'a listener ends when its signal aborts or its loop ends',
    promise: 'P4: nothing hangs',
    area: 'live',
    async run({ store }) {
      const id = await session(store);
      const listener = listen(store, id);
      const next = meanwhile(listener.next());
      listener[Symbol.dispose]();
      assert.equal((await within(next, 'the end of a listener')).done, true);
      const dead = store.live(id, { signal: AbortSignal.abort() })[Symbol.asyncIterator]();
      assert.equal((await within(dead.next(), 'the end of a dead listener')).done, true);
      if (!isHeard(store)) return;
      const heard = store.live(id, { signal: new AbortController().signal });
      const work = async (): Promise<unknown> => {
        for await (const { event } of heard) return event;
        return undefined;
      };
      await store.publish(id, { n: 1 });
      assert.deepEqual(await within(work(), 'the loop to be left'), { n: 1 });
    },
  },
];

interface Ear extends Disposable {
  /** Expects the next events to have these numbers. */
  expect(numbers: readonly number[]): Promise<LiveEvent[]>;
  next(): Promise<IteratorResult<LiveEvent>>;
}

function listen(store: Store, id: string): Ear {
  const stop = new AbortController();
  const events = store.live(id, { signal: stop.signal })[Symbol.asyncIterator]();
  return {
    next: () => events.next(),
    async expect(numbers) {
      const heard: LiveEvent[] = [];
      for (const n of numbers) {
        const step = await within(events.next(), `event ${n}`);
        assert.ok(step.done !== true, 'a listener listens until its signal aborts');
        assert.equal(step.value.event['n'], n);
        heard.push(step.value);
      }
      return heard;
    },
    [Symbol.dispose]: () => stop.abort(),
  };
}
