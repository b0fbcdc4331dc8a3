import { createHash } from 'node:crypto';
import type { ConvlogChat } from '../../src/store/convlog.ts';
import type * as port from '../../src/store/store.ts';
import { extractBlobs } from '../../src/transcript/blobs.ts';
import { type BrokenStore, broken } from './broken-store.ts';
import { PlainConvlog } from './plain-convlog.ts';
import type { Entries, PlainSession, PlainStore } from './plain-store.ts';

const DELETE_KEEPS_BLOBS = 'delete and restore keep large parts, purge takes them, and no others';

export const brokenStores: readonly BrokenStore[] = [
  // Writing
  broken(
    'drops the last acknowledged append on reopen',
    'an acknowledged append survives closing and opening again',
    ({ data }) => ({
      onReopen: () => data.sessions.forEach(({ lines }) => void lines.splice(Math.max(1, lines.length - 1))),
    }),
  ),
  broken(
    'acknowledges before the write, which a later failure takes along',
    'a refused append takes nothing acknowledged with it',
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
    'every receipt of concurrent appends names the place of its own entries',
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
    'one bad entry refuses the whole append, and nothing of it is written',
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
    'loses keys called __proto__',
    'entry fields called like parts of an object are data',
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
    'an export in parts is the export, wherever it is begun and ended',
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
    'the same key and body again get the same seqs, and nothing is written twice',
    (_store, right) => ({ write: (session, entries, hash) => right.write(session, entries, hash) }),
  ),
  broken(
    'gives a session key again to whoever asks a second time',
    'an activation under a key happens once, whoever has the session key when it is asked for again',
    (_store, right) => ({ activate: (key, id, { reason = '' } = {}) => right.activate(key, id, { reason }) }),
  ),
  broken(
    'forgets idempotency keys on reopen',
    'a key is still known after closing and opening again',
    ({ data }) => ({ onReopen: () => data.sessions.forEach(({ keys }) => void keys.clear()) }),
  ),
  broken('remembers a key without its body', 'the same key with another body is refused', (store, right) => ({
    append: async (id, entries, options) =>
      store.find(id).keys.get(options?.key ?? '')?.receipt ?? right.append(id, entries, options),
  })),
  broken(
    'spends the key of a refused append',
    'a key spent on a refused append is not spent',
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
    'a retry of an append that landed is answered although the leaf has moved',
    (store, right) => ({
      append: async (id, entries, options) => {
        store.checkLeaf(store.find(id), options?.expectedLeaf);
        return right.append(id, entries, options);
      },
    }),
  ),
  broken(
    'checks the epoch before the key',
    'a retry of an append that landed is answered although another holder took over',
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
    'of many appends that expect the same leaf exactly one lands',
    (store, right) => ({
      append: async (id, entries, { expectedLeaf, ...options } = {}) => {
        store.checkLeaf(store.find(id), expectedLeaf);
        await Promise.resolve();
        return right.append(id, entries, options);
      },
    }),
  ),
  broken('loses the leaf on reopen', 'the leaf survives closing and opening again', ({ data }) => ({
    onReopen: () => {
      for (const session of data.sessions.values()) session.leaf = null;
    },
  })),
  broken(
    'takes a move of the leaf for any other note',
    'moving the leaf makes the next entry hang there, also after opening again',
    (_store, right) => ({
      write: (session, entries, hash, key) => {
        const { leaf } = session;
        const receipt = right.write(session, entries, hash, key);
        if (entries.every(({ customType }) => customType === 'reprise.leaf')) session.leaf = leaf;
        return receipt;
      },
    }),
  ),

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

  // Reading
  broken(
    'skips one session between the pages of a list',
    'pages of a list give every session once',
    (_store, right) => ({
      list: async (query) => {
        const page = await right.list(query);
        return query?.cursor === undefined ? page : { ...page, sessions: page.sessions.slice(1) };
      },
    }),
  ),
  broken(
    'reads backwards off by one',
    'reading backwards in pages of any size gives every line once, the last one first',
    (_store, right) => ({
      read: (id, range = {}) =>
        right.read(id, range.from === undefined ? range : { ...range, from: range.from - back(range) }),
    }),
  ),
  broken(
    'drops the first kept entry from the tail',
    'after a compaction the tail holds what it kept and all that came after',
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
    'taking back a compaction brings the old context back into the tail',
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
    'a listener hears what is published after it began, in order',
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
    'a listener hears what is published after it began, in order',
    (_store, right) => ({
      live: (id, options) =>
        (async function* () {
          yield* right.live(id, options);
        })(),
    }),
  ),
  broken(
    'tells every listener everything',
    'every listener of a session hears its events, and only its own',
    (store, right) => ({
      publish: async (id, event) => {
        await right.publish(id, event);
        for (const other of store.data.sessions.values())
          if (other.id !== id) await right.publish(other.id, event);
      },
    }),
  ),
  broken('writes published events down', 'what is published is not stored', (store, right) => ({
    publish: async (id, event) => {
      await right.publish(id, event);
      await store.append(id, [{ type: 'custom', customType: 'reprise.delta', data: event }]);
    },
  })),
  broken(
    'passes on events of any size',
    'an event that is too large, or no JSON, is refused, heard or not',
    (_store, right) => ({
      publish: (id, event) =>
        right.publish(id, event).catch((error: { readonly code?: string }) => {
          if (error.code !== 'LIMIT_EXCEEDED') throw error;
        }),
    }),
  ),
  broken(
    'keeps everything for a slow listener',
    'a slow listener loses the oldest, is told how many, and hears the newest',
    () => ({ hear: (ear, text) => void ear.waiting.push(text) }),
  ),
  broken(
    'drops events in silence',
    'a slow listener loses the oldest, is told how many, and hears the newest',
    (_store, right) => ({
      hear: (ear, text) => {
        right.hear(ear, text);
        ear.missed = 0;
      },
    }),
  ),
  broken(
    'drops the newest for a slow listener',
    'a slow listener loses the oldest, is told how many, and hears the newest',
    () => ({
      hear: (ear, text) => {
        if (ear.waiting.length < 500) ear.waiting.push(text);
        else ear.missed++;
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
    'a retry with the same key and large parts gets the same seqs, and other parts are another body',
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
    'serves large parts to whoever knows their name',
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
        await right.purge(id);
        data.purged.clear();
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
  // Convlog
  broken(
    'logs nothing that comes with an append',
    'reset, delete and purge leave the convlog as it is',
    (_store, right) => ({
      append: (id, entries, { log: _log, ...options } = {}) => right.append(id, entries, options),
    }),
  ),
  broken(
    'takes the convlog along when a session is purged',
    'reset, delete and purge leave the convlog as it is',
    (store, right) => ({
      purge: async (id) => {
        await right.purge(id);
        const kept = store.data.logged.filter(({ sessionId }) => sessionId !== id);
        store.data.logged.splice(0, Infinity, ...kept);
      },
    }),
  ),
  broken(
    'logs a message again when it is sent again',
    'a message that is sent again is logged once',
    (store, right) => ({
      receive: (inbound) => {
        const receipt = right.receive(inbound);
        if (!receipt.fresh && inbound.log !== undefined) store.convlog.write([inbound.log]);
        return receipt;
      },
    }),
  ),
  broken('logs what it then refuses', 'what is refused is not logged', (store, right) => ({
    append: (id, entries, { log = [], ...options } = {}) => {
      store.convlog.write(log);
      return right.append(id, entries, options);
    },
  })),
  brokenLog(
    'keeps the lines before a bad one',
    'a bad convlog line refuses all that came with it',
    (right) => ({
      write: (lines) => {
        for (const line of lines) right.write([line]);
      },
    }),
  ),
  brokenLog(
    'loses what UTF-8 cannot say',
    'what was said on a channel is read back as it was said',
    (right) => ({
      write: (lines) =>
        right.write(lines.map((line) => ({ ...line, content: Buffer.from(line.content).toString() }))),
    }),
  ),
  brokenLog(
    'leaves out a line between two pages',
    'a convlog is read in pages from both ends, and every line is there once',
    (right) => ({
      read: async (chat, range = {}) => {
        const page = await right.read(chat, range);
        return {
          ...page,
          next: page.next === null ? null : page.next + (range.direction === 'backward' ? -1 : 1),
        };
      },
    }),
  ),
  brokenLog(
    'finds words as they are written only',
    'a convlog can be narrowed by words and by who said them',
    (right) => ({
      read: async (chat, range = {}) => {
        const page = await right.read(chat, range);
        return { ...page, lines: page.lines.filter(({ content }) => content.includes(range.text ?? '')) };
      },
    }),
  ),
  brokenLog(
    'takes the last line for the newest',
    'chats are listed with what is known of them, the last spoken in first',
    (right) => ({
      list: async (query) => {
        const page = await right.list(query);
        const last = (chat: ConvlogChat): string => right.of(chat).at(-1)?.ts ?? '';
        return { ...page, chats: page.chats.map((chat) => ({ ...chat, lastAt: last(chat) })) };
      },
    }),
  ),
  brokenLog(
    'loses chats that tie at the edge of a page',
    'pages of chats give every chat once, in either order',
    (right) => ({
      list: async (query = {}) => {
        const page = await right.list(query);
        // A cursor of the time alone: those of the same time are behind it.
        return { ...page, cursor: page.cursor === null ? null : `${page.cursor.slice(0, 25)}000000000` };
      },
    }),
  ),
  brokenLog(
    'ignores the member of a query',
    'chats can be narrowed by agent, channel, member and text',
    (right) => ({
      list: ({ member: _member, ...query } = {}) => right.list(query),
    }),
  ),
  brokenLog(
    'takes ids for equal ignoring case',
    'chats whose ids are alike are still different chats',
    (right) => ({
      write: (lines) =>
        right.write(lines.map((line) => ({ ...line, channelId: line.channelId.toLowerCase() }))),
    }),
  ),
  broken(
    'lets a search look into the convlog',
    'a search of sessions does not look into the convlog',
    (store, right) => ({
      search: async (query) => {
        const found = await right.search(query);
        const more = store.data.logged
          .filter(({ content }) => content.includes(query.text))
          .map(({ sessionId = '', number, content }) => ({
            ...{ id: sessionId, agentId: 'main', seq: number, entryId: '', role: 'user' as const, at: '' },
            ...{ snippet: content, marks: [] },
          }));
        return { ...found, hits: [...found.hits, ...more] };
      },
    }),
  ),
  broken('answers after it was closed', 'a closed store refuses every call, and nothing hangs', () => ({
    [Symbol.asyncDispose]: async () => {},
  })),
];

/** A mistake in the convlog alone. */
function brokenLog(
  name: string,
  caughtBy: string,
  mistake: (right: PlainConvlog) => Partial<PlainConvlog>,
): BrokenStore {
  return broken(name, caughtBy, (store) => {
    const make = (): PlainConvlog =>
      new PlainConvlog(store.data.logged, store.options.now, { open: () => {}, writable: () => {} });
    return { convlog: Object.assign(make(), mistake(make())) };
  });
}

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

function back({ direction }: port.ReadRange): number {
  return direction === 'backward' ? 1 : 0;
}
