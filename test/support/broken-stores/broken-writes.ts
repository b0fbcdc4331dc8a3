import { createHash } from 'node:crypto';
import type * as port from '../../../src/store/port/store.ts';
import { extractBlobs } from '../../../src/transcript/blobs.ts';
import type { Entries, PlainSession } from '../plain-store/plain-data.ts';
import type { PlainStore } from '../plain-store/plain-store.ts';
import { type BrokenStore, broken } from './broken-store.ts';

const DELETE_KEEPS_BLOBS = 'delete and restore keep large parts; purge removes those of its session only';

/** Mistakes of appends: what is written, under which key, behind which leaf, and its large parts. */
export const brokenWrites: readonly BrokenStore[] = [
  // Writing
  broken(
    'drops the last acknowledged append on reopen',
    'an acknowledged append survives closing and reopening the store',
    ({ data }) => ({
      onReopen: () => data.sessions.forEach(({ lines }) => void lines.splice(Math.max(1, lines.length - 1))),
    }),
  ),
  broken(
    'acknowledges before the write, which a later failure takes along',
    'a refused append does not affect acknowledged entries',
    (store, right) => {
      let unsafe: PlainSession | undefined;
      const append: PlainStore['append'] = async (id, entries, options) => {
        const session = store.find(id);
        const before = { ...session, lines: [...session.lines] };
        try {
          const receipt = await right.append(id, entries, options);
          unsafe = before;
          return receipt;
        } catch (error) {
          if (unsafe?.id === id) store.data.sessions.set(id.toLowerCase(), unsafe);
          throw error;
        }
      };
      return { append };
    },
  ),
  broken(
    'writes concurrent appends in another order than it answers them',
    'every receipt of concurrent appends names the seqs of its entries',
    (store, right) => {
      let queue: (() => void)[] = [];
      const turnBack = (): void => {
        for (const go of queue.reverse()) go();
        queue = [];
      };
      const append: PlainStore['append'] = async (id, entries, options) => {
        const promised = store.find(id).lines.length + queue.length * entries.length + 1;
        const { promise, resolve } = Promise.withResolvers<void>();
        if (queue.push(resolve) === 1) setImmediate(turnBack);
        await promise;
        await right.append(id, entries, options);
        return { firstSeq: promised, lastSeq: promised + entries.length - 1 };
      };
      return { append };
    },
  ),
  broken(
    'tears a batch: keeps the first entries of a refused append',
    'one invalid entry refuses the whole append, and nothing of it is written',
    (_store, right) => ({
      append: async (id, entries, options) => {
        const receipts: port.AppendReceipt[] = [];
        for (const entry of entries) receipts.push(await right.append(id, [entry], options));
        return { firstSeq: receipts.at(0)?.firstSeq ?? 0, lastSeq: receipts.at(-1)?.lastSeq ?? 0 };
      },
    }),
  ),
  broken(
    'corrupts lone surrogates on the way through bytes',
    'hostile text comes back unchanged from append, read, reopen and export',
    (_store, right) => ({
      write: (session, entries, hash, key) => right.write(session, changed(entries, throughBytes), hash, key),
    }),
  ),
  broken(
    'stores keys with different lone surrogates as the same key',
    'a key with a lone surrogate is refused, because databases would make different keys equal',
    (_store, right) => ({
      append: (id, entries, { key, ...options } = {}) =>
        right.append(id, entries, { ...options, ...(key !== undefined && { key: key.toWellFormed() }) }),
    }),
  ),
  broken(
    'loses keys called __proto__',
    'entry fields named like object properties are data',
    (_store, right) => ({
      write: (session, entries, hash, key) => right.write(session, changed(entries, assigned), hash, key),
    }),
  ),
  broken(
    'exports another header than it has',
    'an export is the sealed history: header first, no gap, every line verifies',
    (store) => ({
      exportSession: async (id) =>
        Buffer.from(store.find(id).lines.join('').replace('"version":3', '"version":2')),
    }),
  ),

  broken(
    'gives the first lines again where later ones were asked for',
    'an export in parts equals the whole export, for any range',
    (_store, right) => ({
      exportLines: async (id, { to }) => ({
        ...(await right.exportLines(id, { from: 1, to })),
        next: to + 1,
      }),
    }),
  ),

  // Idempotency keys
  broken(
    'forgets idempotency keys',
    'a repeated key and body returns the same seqs, and nothing is written twice',
    (_store, right) => ({ write: (session, entries, hash) => right.write(session, entries, hash) }),
  ),
  broken(
    'gives a session key again to a retried request',
    'an activation under a key happens once, even if another session has the session key by then',
    (_store, right) => ({ activate: (key, id, { reason = '' } = {}) => right.activate(key, id, { reason }) }),
  ),
  broken(
    'forgets idempotency keys on reopen',
    'a key is still known after closing and reopening the store',
    ({ data }) => ({ onReopen: () => data.sessions.forEach(({ keys }) => void keys.clear()) }),
  ),
  broken(
    'remembers a key without its body',
    'a known key with a different body is refused',
    (store, right) => ({
      append: async (id, entries, options) =>
        store.find(id).keys.get(options?.key ?? '')?.receipt ?? right.append(id, entries, options),
    }),
  ),
  broken(
    'spends the key of a refused append',
    'a key of a refused append can be used again',
    (store, right) => ({
      append: (id, entries, options) =>
        right.append(id, entries, options).catch((error: unknown) => {
          const receipt = { firstSeq: 1, lastSeq: 1 };
          store.find(id).keys.set(options?.key ?? '', { hash: 'not of this body', receipt });
          throw error;
        }),
    }),
  ),
  broken(
    'checks the leaf before the key',
    'a retry of a successful append is answered even if the leaf has moved',
    (store, right) => ({
      append: async (id, entries, options) => {
        store.checkLeaf(store.find(id), options?.expectedLeaf);
        return right.append(id, entries, options);
      },
    }),
  ),
  broken(
    'checks the epoch before the key',
    'a retry of a successful append is answered even if another holder took over',
    (store, right) => ({
      append: async (id, entries, options) => {
        store.checkEpoch(store.find(id), entries, options?.epoch);
        return right.append(id, entries, options);
      },
    }),
  ),
  broken(
    'checks the epoch before the tombstone',
    'the checks come in order: key, tombstone, epoch, leaf',
    (store, right) => ({
      guard: (session, entries, options) => {
        store.checkEpoch(session, entries, options.epoch);
        right.guard(session, entries, options);
      },
    }),
  ),

  // The leaf
  broken(
    'ignores the expected leaf',
    'an append that expects another leaf is refused and writes nothing',
    () => ({ checkLeaf: () => {} }),
  ),
  broken(
    'checks the leaf before it has its turn',
    'of many appends that expect the same leaf, exactly one succeeds',
    (store, right) => ({
      append: async (id, entries, { expectedLeaf, ...options } = {}) => {
        store.checkLeaf(store.find(id), expectedLeaf);
        await Promise.resolve();
        return right.append(id, entries, options);
      },
    }),
  ),
  broken('loses the leaf on reopen', 'the leaf survives closing and reopening the store', ({ data }) => ({
    onReopen: () => {
      for (const session of data.sessions.values()) session.leaf = null;
    },
  })),
  broken(
    'takes a move of the leaf for any other note',
    'after a leaf move the next entry is attached there, also after reopening',
    (_store, right) => ({
      write: (session, entries, hash, key) => {
        const { leaf } = session;
        const receipt = right.write(session, entries, hash, key);
        if (entries.every(({ customType }) => customType === 'reprise.leaf')) session.leaf = leaf;
        return receipt;
      },
    }),
  ),

  // Large parts
  broken(
    'loses large parts on reopen',
    'large images and tool texts come back byte for byte',
    ({ data }) => ({ onReopen: () => data.sessions.forEach(({ blobs }) => void blobs.clear()) }),
  ),
  broken(
    'keeps large parts as text',
    'large images and tool texts come back byte for byte',
    (_store, right) => ({
      blob: async (id, hash) => Buffer.from(Buffer.from(await right.blob(id, hash)).toString()),
    }),
  ),
  broken('puts large parts into an export', 'an export carries large parts by reference', (store, right) => ({
    exportSession: async (id) => {
      const { blobs } = store.find(id);
      return Buffer.concat([await right.exportSession(id), ...blobs.values()]);
    },
  })),
  broken('keeps the large parts of a refused append', 'a refused append leaves no blob', (store, right) => ({
    append: async (id, entries, options) => {
      for (const entry of entries) extractBlobs(entry, (bytes) => keepBytes(store.find(id), bytes));
      return right.append(id, entries, options);
    },
  })),
  broken(
    'compares the bodies of retries without their large parts',
    'a retry with the same key and large parts gets the same seqs, and different parts are a different body',
    (_store, right) => ({
      append: (id, entries, options) =>
        right.append(
          id,
          entries.map((entry) => extractBlobs(entry, () => 'sha256:')),
          options,
        ),
    }),
  ),
  broken(
    'serves large parts to any caller that knows their name',
    'a blob is served only through a session that has it',
    ({ data }, right) => ({
      blob: async (id, hash) => {
        const owner = [...data.sessions.values()].find(({ blobs }) =>
          blobs.has(hash.slice('sha256:'.length)),
        );
        return right.blob(owner?.id ?? id, hash);
      },
    }),
  ),
  broken('loses large parts of deleted sessions', DELETE_KEEPS_BLOBS, (store, right) => ({
    delete: async (id) => {
      store.find(id).blobs.clear();
      return right.delete(id);
    },
  })),
];

function keepBytes({ blobs }: PlainSession, bytes: Uint8Array): string {
  const hash = createHash('sha256').update(bytes).digest('hex');
  blobs.set(hash, bytes);
  return `sha256:${hash}`;
}

function changed(entries: Entries, change: (value: unknown) => unknown): Entries {
  return JSON.parse(JSON.stringify(entries), (_key, value: unknown) => change(value)) as Entries;
}

function throughBytes(value: unknown): unknown {
  return typeof value === 'string' ? Buffer.from(value).toString() : value;
}

function assigned(value: unknown): unknown {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.assign({}, value)
    : value;
}
