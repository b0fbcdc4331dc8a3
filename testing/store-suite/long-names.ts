import assert from 'node:assert/strict';
import type { Inbound } from '../../src/store/port/inbox.ts';
import type { Store } from '../../src/store/port/store.ts';
import { copyAll, RUN, sameStores } from './copy/transfer-kit.ts';
import { beforeAndAfter, refused, user } from './kit.ts';
import type { StoreCase } from './store-case.ts';

/** Text that does not compress, because compression would hide its length. */
function longText(chars: number, seed: number): string {
  let state = seed;
  return Array.from({ length: chars }, () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    // Characters of three bytes each, without upper and lower case.
    return String.fromCharCode(0x4e00 + ((state >>> 8) % 0x5000));
  }).join('');
}

const PEER_KEY = `agent:main:telegram:direct:${longText(4000, 1)}`;
const CHANNEL = longText(3500, 2);
const CHANNEL_KEY = `agent:main:${CHANNEL}:group:42`;
const PARENT = longText(3500, 3);

const inbound = (n: number): Inbound => ({
  sessionKey: PEER_KEY,
  source: longText(450, 4),
  idempotencyKey: longText(450, 5 + n),
  body: { text: `${n}` },
});

export const longNameCases: readonly StoreCase[] = [
  {
    name: 'a name may be as long as the limit, in any script',
    promise: 'I-16: all stores accept the same input',
    area: 'input',
    async run({ store, reopen, another }) {
      const { id } = await store.create({ key: PEER_KEY, parentId: PARENT, activate: true });
      const other = await store.create({ key: CHANNEL_KEY, parentId: `${PARENT}x` });
      const key = longText(5000, 6);
      const receipt = await store.append(id, [user('one')], { key });
      const receipts = [await store.inbox.receive(inbound(1)), await store.inbox.receive(inbound(2))];
      for await (const open of beforeAndAfter({ store, reopen })) {
        await known(open, id, other.id);
        assert.deepEqual(await open.append(id, [user('one')], { key }), receipt);
        for (const [i, { inboxId }] of receipts.entries()) {
          const again = await open.inbox.receive(inbound(i + 1));
          assert.deepEqual([again.inboxId, again.fresh], [inboxId, false]);
        }
        await open.delete(other.id);
        assert.equal((await open.restore(other.id)).active, false);
      }
      const source = await reopen();
      const copy = await another();
      await copyAll(source, copy);
      await sameStores(source, copy);
      await copy.transfer.finish(RUN);
      await known(copy, id, other.id);
      assert.equal((await copy.inbox.receive(inbound(1))).fresh, false);
    },
  },
  {
    name: 'the length of a group name is limited',
    promise: 'I-16: all stores refuse the same input',
    area: 'input',
    async run({ store }) {
      const send = (name: string): Promise<unknown> =>
        store.inbox.receive({
          sessionKey: 'agent:main:main',
          source: 'case',
          body: { text: 'a' },
          group: { name, max: 5 },
        });
      const longest = `\u0085${longText(254, 7)}:`;
      await send(longest);
      assert.equal((await store.inbox.pending({ group: longest }))[0]?.group, longest);
      const error = await refused(send(`${longest}x`), 'LIMIT_EXCEEDED');
      assert.deepEqual([error.details['limit'], error.details['max']], ['group name', 256]);
    },
  },
];

async function known(store: Store, id: string, other: string): Promise<void> {
  assert.equal((await store.active(PEER_KEY))?.id, id);
  const ids = async (query: object): Promise<[string, boolean][]> =>
    (await store.list(query)).sessions.map((found) => [found.id, found.active]);
  assert.deepEqual(await ids({ parentId: PARENT }), [[id, true]]);
  assert.deepEqual(await ids({ parentId: `${PARENT}x` }), [[other, false]]);
  assert.deepEqual(await ids({ channel: CHANNEL }), [[other, false]]);
  assert.equal((await store.get(id)).sessionKey, PEER_KEY);
}
