import type { TransferRecord } from '../../../src/store/port/transfer.ts';
import type { PlainStore } from '../plain-store/plain-store.ts';
import { PlainTransfer } from '../plain-store/plain-transfer.ts';
import { type BrokenStore, broken } from './broken-store.ts';

const COPY = 'a copy of a store gives the same answers as the store';
const AGAIN = 'repeated records change nothing, and a copy can resume from every page';
const PASS = 'a second pass adds new data and removes purged sessions';
const UNFINISHED = 'a store refuses writes while a copy into it is unfinished';
const TAKES_NONE = 'a store with data or with another copy refuses a copy';
const EPOCHS = 'a copy never grants an epoch of its source again';

/** The transfer of a store with one of its steps done otherwise. */
function transfer(
  { data }: PlainStore,
  mistake: (right: PlainTransfer) => Partial<PlainTransfer>,
): Partial<PlainStore> {
  const make = (): PlainTransfer => new PlainTransfer(data, () => undefined);
  return { transfer: Object.assign(make(), mistake(make())) };
}

/** Leaves out, or changes, what it is given. */
const taking = (
  name: string,
  caughtBy: string,
  change: (record: TransferRecord) => TransferRecord | undefined,
): BrokenStore =>
  broken(name, caughtBy, (store) =>
    transfer(store, (right) => ({
      take: (record, copy) => {
        const changed = change(record);
        if (changed !== undefined) right.take(changed, copy);
      },
    })),
  );

const without =
  (kind: TransferRecord['kind']) =>
  (record: TransferRecord): TransferRecord | undefined =>
    record.kind === kind ? undefined : record;

export const brokenTransfers: readonly BrokenStore[] = [
  taking('copies no messages', COPY, without('item')),
  taking('copies no blobs', COPY, without('blob')),
  taking('copies no convlogs', COPY, without('convlog')),
  taking('forgets in a copy which ids are gone', COPY, without('purged')),
  broken(
    'runs what a restored copy should hold',
    'a copy with held messages runs none of them until they are released',
    (store) => transfer(store, (right) => ({ finish: (run) => right.finish(run) })),
  ),
  taking('forgets in a copy what a key stands for', COPY, without('key')),
  taking(
    'forgets in a copy which messages it has accepted',
    'a copy knows the idempotency keys of its source',
    without('inbound'),
  ),
  taking(
    'runs copied messages from the start',
    'a message that was running is an orphan in the copy',
    (record) =>
      record.kind === 'item' && record.item.state === 'running'
        ? { ...record, item: { ...record.item, state: 'accepted' } }
        : record,
  ),
  taking('forgets the epoch of a copied session', COPY, (record) =>
    record.kind === 'session' ? { ...record, epoch: 0 } : record,
  ),
  broken('adds copied lines again', AGAIN, (store) =>
    transfer(store, (right) => ({
      take: (record, copy) => {
        const first =
          record.kind === 'lines'
            ? (store.data.sessions.get(record.session.toLowerCase())?.lines.length ?? 0)
            : 0;
        right.take(record.kind === 'lines' ? { ...record, first: first + 1 } : record, copy);
      },
    })),
  ),
  broken('adds copied convlog lines again', AGAIN, (store) =>
    transfer(store, (right) => ({
      take: (record, copy) =>
        record.kind === 'convlog' ? void store.data.logged.push(record.line) : right.take(record, copy),
    })),
  ),
  broken('forgets how far a copy is', AGAIN, (store) =>
    transfer(store, (right) => ({
      write: (records, { run }) => right.write(records, { run, cursor: 'elsewhere' }),
    })),
  ),
  broken('keeps the first state of a copied message', PASS, (store) =>
    transfer(store, (right) => ({
      take: (record, copy) => {
        if (record.kind === 'item' && store.data.items.has(record.item.inboxId)) return;
        right.take(record, copy);
      },
    })),
  ),
  broken('keeps what the source has purged', PASS, (store) =>
    transfer(store, (right) => ({
      take: (record, copy) =>
        record.kind === 'purged' ? void store.data.purged.add(record.id) : right.take(record, copy),
    })),
  ),
  broken('lets anybody write into half a copy', UNFINISHED, () => ({ writable: () => undefined })),
  broken('copies over what it has', TAKES_NONE, (store) =>
    transfer(store, (right) => ({
      write: (records, note) => {
        store.data.copy ??= { run: note.run, cursor: null, finished: false, epoch: 0 };
        return right.write(records, note);
      },
    })),
  ),
  broken('mixes two copies', TAKES_NONE, (store) =>
    transfer(store, (right) => ({
      write: (records, { run, cursor }) => {
        const { copy } = store.data;
        return right.write(records, { run: copy === undefined || copy.finished ? run : copy.run, cursor });
      },
    })),
  ),
  broken('grants the epochs of the source again', EPOCHS, (store) =>
    transfer(store, (right) => ({
      finish: async (run) => {
        await right.finish(run);
        store.data.epochFloor = 0;
      },
    })),
  ),
  broken(
    'believes whatever bytes it is given',
    'a copy refuses bytes that do not match their seal',
    (store) =>
      transfer(store, (right) => ({
        write: async (records, note) => {
          await right.write([], note);
          const { copy } = store.data;
          if (copy !== undefined) for (const record of records) right.take(record, copy);
        },
      })),
  ),
  broken(
    'ends a copied session within an append',
    'a copy made during writes has only whole appends and everything written before',
    (store) =>
      transfer(store, (right) => ({
        read: async (cursor) => {
          const page = await right.read(cursor);
          const { records } = page;
          // The last line that is copied of a session, which has the end of an append.
          const whole = records.filter(({ kind }, i) => kind !== 'lines' || records[i + 1]?.kind === 'lines');
          return { ...page, records: whole };
        },
      })),
  ),
  broken('tells everything at once', 'a large store is copied in small pages', (store) =>
    transfer(store, (right) => ({
      read: async (from) => {
        const records: TransferRecord[] = [];
        for (let cursor: string | null | undefined = from; cursor !== null; ) {
          const page = await right.read(cursor);
          records.push(...page.records);
          ({ cursor } = page);
        }
        return { records, cursor: null };
      },
    })),
  ),
];
