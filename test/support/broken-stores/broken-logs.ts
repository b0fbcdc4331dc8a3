import type { ConvlogChat } from '../../../src/store/port/convlog.ts';
import { PlainConvlog } from '../plain-store/plain-convlog.ts';
import { type BrokenStore, broken } from './broken-store.ts';

/** Faults in channel logs. */
export const brokenLogs: readonly BrokenStore[] = [
  broken(
    'logs nothing that comes with an append',
    'reset, delete and a purge by retention do not change the channel log',
    (_store, right) => ({
      append: (id, entries, { log: _log, ...options } = {}) => right.append(id, entries, options),
    }),
  ),
  broken(
    'takes the convlog along when a session is purged',
    'reset, delete and a purge by retention do not change the channel log',
    (store, right) => ({
      purge: async (id) => {
        const receipt = await right.purge(id);
        const kept = store.data.logged.filter(({ sessionId }) => sessionId !== id);
        store.data.logged.splice(0, Infinity, ...kept);
        return receipt;
      },
    }),
  ),
  broken(
    'keeps the log of a purged session',
    'a purge removes the lines and messages of its session, and no others',
    (_store, right) => ({ purge: (id) => right.purge(id, { keepChannelLog: true }) }),
  ),
  broken(
    'logs a message again when it is sent again',
    'a message that is sent twice is logged once',
    (store, right) => ({
      receive: (inbound) => {
        const receipt = right.receive(inbound);
        if (!receipt.fresh && inbound.log !== undefined) store.convlog.write([inbound.log]);
        return receipt;
      },
    }),
  ),
  broken('logs what it then refuses', 'a refused message is not logged', (store, right) => ({
    append: (id, entries, { log = [], ...options } = {}) => {
      store.convlog.write(log);
      return right.append(id, entries, options);
    },
  })),
  brokenLog(
    'keeps the lines before a bad one',
    'an invalid channel log line refuses the whole call',
    (right) => ({
      write: (lines) => {
        for (const line of lines) right.write([line]);
      },
    }),
  ),
  brokenLog('loses what UTF-8 cannot say', 'channel log lines are read back unchanged', (right) => ({
    write: (lines) =>
      right.write(lines.map((line) => ({ ...line, content: Buffer.from(line.content).toString() }))),
  })),
  brokenLog(
    'leaves out a line between two pages',
    'a channel log is read in pages from both ends, and every line appears once',
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
    'a channel log can be filtered by words and by sender',
    (right) => ({
      read: async (chat, range = {}) => {
        const page = await right.read(chat, range);
        return { ...page, lines: page.lines.filter(({ content }) => content.includes(range.text ?? '')) };
      },
    }),
  ),
  brokenLog(
    'takes the last line for the newest',
    'chats are listed with their details, the most recently used first',
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
    'the pages of a chat list contain every chat once, in either order',
    (right) => ({
      list: async (query = {}) => {
        const page = await right.list(query);
        // A cursor of the time alone: lines of the same time are skipped.
        return { ...page, cursor: page.cursor === null ? null : `${page.cursor.slice(0, 25)}000000000` };
      },
    }),
  ),
  brokenLog(
    'ignores the member of a query',
    'chats can be filtered by agent, channel, member and text',
    (right) => ({
      list: ({ member: _member, ...query } = {}) => right.list(query),
    }),
  ),
  brokenLog('takes ids for equal ignoring case', 'chats with similar ids are different chats', (right) => ({
    write: (lines) =>
      right.write(lines.map((line) => ({ ...line, channelId: line.channelId.toLowerCase() }))),
  })),
  broken(
    'lets a search look into the convlog',
    'a session search does not search the channel log',
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
