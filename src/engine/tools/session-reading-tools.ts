import type { SessionRecord, Store, StoredEntry } from '../../store/port/store.ts';
import { contentText } from '../../transcript/content.ts';
import type { Entry } from '../../transcript/entry.ts';
import { isObject, type JsonObject } from '../../transcript/json.ts';
import { foundSessions } from '../admin/found-sessions.ts';
import type { SessionName, SessionReach } from '../agents/session-reach.ts';
import { oneLine } from '../commands/command-context.ts';
import { wrongValue } from '../settings-patch.ts';
import { inputSchema, type ReadCall, SESSION_NAME } from './session-call.ts';
import type { Tool } from './tool.ts';

const LIMIT = { type: 'number', description: 'At most so many; by default 20.' } as const;
const MAX_LIMIT = 200;
const MAX_TEXT_CHARS = 4000;
const PAGE = 200;
/** Maximum number of entries that one call reads, so that a long history is not read to its start for one answer. */
const MAX_ENTRIES = 5000;
const AROUND = 80;

/** Running these tools twice is harmless: a turn that crashed after one is resumed. */
export function createReadingTools(store: Store, calling: ReadCall): Tool[] {
  return [listTool(store, calling), historyTool(store, calling), searchTool(store, calling)];
}

function listTool(store: Store, calling: ReadCall): Tool {
  return {
    name: 'sessions_list',
    description: 'Lists the sessions you can reach: your own and your subagents.',
    inputSchema: inputSchema({ limit: LIMIT }),
    safe: true,
    run: async ({ limit }, context) => {
      const { caller, reach } = await calling(context);
      const sessions: JsonObject[] = [];
      for (const record of await reach.list(limitOf(limit))) {
        const open = await store.inbox.pending(record.id);
        const { sessionKey, label, title, agentId, messageCount, lastAt } = record;
        sessions.push({
          sessionKey,
          ...(label !== undefined && { label }),
          ...(title !== '' && { title }),
          agentId,
          status: open.some(({ state }) => state === 'running')
            ? 'running'
            : open.length > 0
              ? 'waiting'
              : 'idle',
          messages: messageCount,
          lastAt,
          ...(record.id === caller.id && { self: true }),
        });
      }
      return { sessions };
    },
  };
}

function historyTool(store: Store, calling: ReadCall): Tool {
  return {
    name: 'sessions_history',
    description: 'Reads the last messages of a session you can reach, oldest first.',
    inputSchema: inputSchema({
      ...SESSION_NAME,
      limit: LIMIT,
      includeTools: { type: 'boolean', description: 'Results of tools too.' },
    }),
    safe: true,
    run: async ({ limit, includeTools, ...name }, context) => {
      const { reach } = await calling(context);
      const record = await reach.find(name as SessionName);
      const messages: JsonObject[] = [];
      const max = limitOf(limit);
      for await (const { role, text } of spoken(store, record)) {
        if (role === 'toolResult' && includeTools !== true) continue;
        messages.unshift({ role, text: cut(text) });
        if (messages.length === max) break;
      }
      return { sessionKey: record.sessionKey, messages };
    },
  };
}

function searchTool(store: Store, calling: ReadCall): Tool {
  return {
    name: 'sessions_search',
    description: 'Finds messages with a text in the sessions you can reach, newest first.',
    inputSchema: inputSchema({ query: { type: 'string' }, limit: LIMIT }, ['query']),
    safe: true,
    run: async ({ query, limit }, context) => {
      if (typeof query !== 'string' || query.trim() === '')
        throw wrongValue('query', query, [{ is: 'nonEmptyText' }]);
      const { reach } = await calling(context);
      const max = limitOf(limit);
      const { everyoneOf } = reach;
      return {
        hits: await (everyoneOf === undefined
          ? scan(store, reach, query, max)
          : lookUp(store, everyoneOf, query, max)),
      };
    },
  };
}

/** Searches session by session: a filtered search over all sessions would reveal others by what it omits. */
async function scan(store: Store, reach: SessionReach, query: string, max: number): Promise<JsonObject[]> {
  const hits: JsonObject[] = [];
  const wanted = query.toLowerCase();
  let left = MAX_ENTRIES;
  for (const record of await reach.list(MAX_LIMIT)) {
    for await (const { role, text } of spoken(store, record)) {
      if (left-- === 0) return hits;
      const at = text.toLowerCase().indexOf(wanted);
      if (at === -1) continue;
      const snippet = oneLine(text.slice(Math.max(0, at - AROUND), at + wanted.length + AROUND), 4 * AROUND);
      hits.push({ sessionKey: record.sessionKey, role, snippet });
      if (hits.length === max) return hits;
    }
  }
  return hits;
}

async function lookUp(
  store: Store,
  filter: { readonly agentId?: string },
  text: string,
  limit: number,
): Promise<JsonObject[]> {
  const { hits } = await store.search({ ...filter, text, limit });
  const sessions = await foundSessions(store, hits);
  return hits.flatMap(({ id, snippet }) => {
    const session = sessions.get(id);
    return session === undefined ? [] : [{ sessionKey: session.sessionKey, snippet }];
  });
}

/** The newest messages first. */
async function* spoken(
  store: Store,
  { id, lastSeq }: SessionRecord,
): AsyncGenerator<{ readonly role: string; readonly text: string }, void, undefined> {
  const oldest = Math.max(1, lastSeq - MAX_ENTRIES);
  for (let from = lastSeq; from >= oldest; ) {
    const { entries } = await store.read(id, { from, limit: PAGE, direction: 'backward' });
    for (const stored of [...entries].sort((a, b) => b.seq - a.seq)) {
      const message = messageOf(stored);
      if (message !== undefined) yield message;
    }
    const last = Math.min(...entries.map(({ seq }) => seq));
    if (entries.length === 0) return;
    from = last - 1;
  }
}

function messageOf({ entry }: StoredEntry): { role: string; text: string } | undefined {
  const { type, message, content } = entry as Entry;
  const isNote = type === 'custom_message';
  const role = isNote ? 'system' : isObject(message) ? message['role'] : undefined;
  if (typeof role !== 'string') return undefined;
  const text = contentText(isObject(message) ? message['content'] : content);
  return text === '' ? undefined : { role, text };
}

function limitOf(limit: unknown = 20): number {
  if (Number.isSafeInteger(limit) && (limit as number) >= 1 && (limit as number) <= MAX_LIMIT)
    return limit as number;
  throw wrongValue('limit', limit, [{ is: 'integer', min: 1, max: MAX_LIMIT }]);
}

function cut(text: string): string {
  return text.length <= MAX_TEXT_CHARS ? text : `${[...text.slice(0, MAX_TEXT_CHARS)].join('')}…`;
}
