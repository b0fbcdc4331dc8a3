import { withPositions } from '../engine/admin/found-sessions.ts';
import { contextMessages } from '../engine/commands/context.ts';
import { explanationMessages, turnNamed } from '../engine/commands/report.ts';
import { readHistory } from '../engine/history/read-history.ts';
import type { Reprise } from '../engine/reprise.ts';
import { wrongValue } from '../engine/settings-patch.ts';
import { messagesText } from '../messages/english.ts';
import { loadBlobs } from '../store/copy/load-blobs.ts';
import type { SearchHit } from '../store/port/search.ts';
import type { SessionRecord } from '../store/port/store.ts';
import { flatText, searchable } from '../store/search/search-text.ts';
import { hydrateBlobs } from '../transcript/blobs.ts';
import type { Entry } from '../transcript/entry.ts';
import type { JsonObject } from '../transcript/json.ts';
import { messageIds, positionsOf } from '../transcript/message-position.ts';
import { redactText } from '../transcript/redact/redact.ts';
import { shownEntry } from '../transcript/shown-entry.ts';
import { pathEntries } from '../transcript/tree.ts';
import type { McpTool } from './mcp-tool.ts';
import { itemsThatFit, MAX_RESULT_BYTES, textPart } from './quoted-history.ts';
import type { VisibleSessions } from './session-scope.ts';

const SESSION = {
  type: 'string',
  description: 'Id, key, label or title of a session, the unique start of one, or @last.',
} as const;
const MAX_LIMIT = 100;
const limit = (standard: number): JsonObject => ({
  type: 'integer',
  minimum: 1,
  maximum: MAX_LIMIT,
  description: `At most so many; ${standard} by default.`,
});
/** A search page; a client with a narrow scope sees few of its hits. */
const SEARCH_PAGE = 50;
const MAX_SEARCH_PAGES = 20;
const SEARCH_MS = 5000;
const LIST_PAGE = 200;
const MAX_LISTED = 5000;
const MAX_INPUT_BYTES = 2000;
const MAX_TEXT_BYTES = 6000;
const WHOLE_TEXT_BYTES = MAX_RESULT_BYTES - 2000;

/** Tools that only read. */
export function readingTools(reprise: Reprise, sessions: VisibleSessions): McpTool[] {
  return [
    searchTool(reprise, sessions),
    listTool(sessions),
    readTool(reprise, sessions),
    {
      name: 'session_explain',
      description:
        'Explains what the model was sent in one turn of a session: messages, tokens, cache, summaries.',
      properties: {
        session: SESSION,
        turn: { type: 'string', description: 'A turn id or a number from 1; the last turn by default.' },
      },
      required: ['session'],
      run: async ({ session: ref, turn }) => {
        const record = await sessions.find(ref);
        const session = await reprise.session({ id: record.id });
        const named = await turnNamed(session, turn === undefined ? '' : String(turn));
        const explanation = await session.explain(named);
        const { turnId, status } = explanation;
        return { session: record.id, turnId, status, text: messagesText(explanationMessages(explanation)) };
      },
    },
    {
      name: 'session_context',
      description: 'Reports how full the context of a session is, and of what.',
      properties: { session: SESSION },
      required: ['session'],
      run: async ({ session: ref }) => {
        const record = await sessions.find(ref);
        const report = await (await reprise.session({ id: record.id })).context();
        const { tokens, window, budget, messages } = report;
        return {
          session: record.id,
          tokens,
          window: window.tokens,
          budget,
          messages,
          text: messagesText(contextMessages(report)),
        };
      },
    },
  ];
}

function searchTool(reprise: Reprise, sessions: VisibleSessions): McpTool {
  return {
    name: 'sessions_search',
    description:
      'Searches the messages of all past conversations for words, newest first. Read around a hit with sessions_read.',
    properties: {
      query: {
        type: 'string',
        description: 'Words that must all occur; words in quotation marks must be together.',
      },
      session: { ...SESSION, description: `Only in this session. ${SESSION.description}` },
      limit: limit(20),
      after: { type: 'string', description: 'The `next` of an earlier result: older hits.' },
    },
    required: ['query'],
    run: async ({ query, session, limit: given, after }) => {
      if (typeof query !== 'string' || query.trim() === '')
        throw wrongValue('query', query, [{ is: 'nonEmptyText' }]);
      const max = limitOf(given, 20);
      const inSession = session === undefined ? {} : { sessionId: (await sessions.find(session)).id };
      const hits: SearchHit[] = [];
      const records = new Map<string, SessionRecord>();
      let next = typeof after === 'string' ? after : undefined;
      let isComplete = true;
      for (let page = 0; page < MAX_SEARCH_PAGES && hits.length < max; page++) {
        const found = await reprise.search({
          text: query,
          limit: Math.min(SEARCH_PAGE, max - hits.length),
          budgetMs: SEARCH_MS,
          ...inSession,
          ...(next !== undefined && { after: next }),
        });
        for (const hit of found.hits) {
          const record = records.get(hit.id) ?? (await sessions.get(hit.id));
          if (record === undefined) continue;
          records.set(hit.id, record);
          hits.push(hit);
        }
        isComplete = found.complete;
        next = found.next ?? undefined;
        if (next === undefined || !isComplete) break;
      }
      const positioned = await withPositions(reprise.store, hits, records);
      const shown = await Promise.all(
        positioned.map(async ({ id, seq, entryId, role, at, snippet, position }) => ({
          session: id,
          title: records.get(id)?.title ?? '',
          ...(position !== undefined && { position }),
          entryId,
          role,
          at,
          snippet: await maskedSnippet(reprise, { id, seq, snippet }),
        })),
      );
      const others = { next: next ?? null, complete: isComplete };
      const { items, cutAt } = itemsThatFit(shown, others);
      return { hits: items, ...others, ...(cutAt !== undefined && { truncated: true }) };
    },
  };
}

/** A secret that begins before the snippet is recognized only in the whole text. */
async function maskedSnippet(
  { store }: Reprise,
  { id, seq, snippet }: Pick<SearchHit, 'id' | 'seq' | 'snippet'>,
): Promise<string> {
  const { entries } = await store.read(id, { from: seq, limit: 1 });
  const entry = entries[0]?.entry;
  if (entry === undefined || entry.type === 'session') return redactText(snippet);
  const [whole = entry] = hydrateBlobs([entry as Entry], await loadBlobs(store, id, [entry as Entry]));
  const text = flatText(searchable(whole as Entry)?.text ?? '');
  const at = text.indexOf(snippet);
  return at === -1 ? redactText(snippet) : redactText(text).slice(at, at + snippet.length);
}

function listTool(sessions: VisibleSessions): McpTool {
  return {
    name: 'sessions_list',
    description: 'Lists past conversations, newest first.',
    properties: {
      text: { type: 'string', description: 'Part of the title or label.' },
      limit: limit(20),
      cursor: { type: 'string', description: 'The `cursor` of an earlier result: older sessions.' },
    },
    required: [],
    run: async ({ text, limit: given, cursor: from }) => {
      const max = limitOf(given, 20);
      const found: JsonObject[] = [];
      let cursor: string | null | undefined = typeof from === 'string' ? from : undefined;
      for (let read = 0; cursor !== null && found.length < max && read < MAX_LISTED; read += LIST_PAGE) {
        // A page ends at a cursor, so it is no larger than what is missing.
        const size = Math.min(LIST_PAGE, max - found.length);
        const page: Awaited<ReturnType<VisibleSessions['list']>> = await sessions.list({
          limit: size,
          ...(typeof cursor === 'string' && { cursor }),
          ...(typeof text === 'string' && { text }),
        });
        found.push(...page.sessions.map(shownSession));
        cursor = page.cursor;
      }
      const { items, cutAt } = itemsThatFit(found, { cursor });
      return { sessions: items, cursor, ...(cutAt !== undefined && { truncated: true }) };
    },
  };
}

function shownSession(record: SessionRecord): JsonObject {
  const { id, sessionKey, title, label, agentId, messageCount, createdAt, lastAt } = record;
  const named = { title, ...(label !== undefined && { label }) };
  return { session: id, sessionKey, ...named, agentId, messages: messageCount, createdAt, lastAt };
}

function readTool(reprise: Reprise, sessions: VisibleSessions): McpTool {
  return {
    name: 'sessions_read',
    description:
      'Reads the messages of a past conversation, oldest first. Results are cut at 20 KB: `truncated` is true then, and `next` has the arguments that continue.',
    properties: {
      session: SESSION,
      from: {
        type: 'integer',
        description:
          'Position of the first message, as in search hits; -10: the last ten. By default from the start.',
      },
      after: { type: 'string', description: 'Continue after this entry id.' },
      entry: { type: 'string', description: 'Only this entry, in full.' },
      offset: {
        type: 'integer',
        minimum: 0,
        description: 'With `entry`: skip so many characters of its text.',
      },
      limit: limit(50),
    },
    required: ['session'],
    run: async (input) => {
      const record = await sessions.find(input['session']);
      return readSession(reprise, record, input);
    },
  };
}

/** One page of a conversation. */
export async function readSession(
  { store }: Reprise,
  record: SessionRecord,
  { from, after, entry: only, offset, limit: given }: JsonObject,
): Promise<JsonObject> {
  const { id } = record;
  const all = await readHistory(store, id);
  if (typeof only === 'string') return readEntry(store, id, all, only, numberOf(offset, 0));
  const path = pathEntries(all);
  const positions = positionsOf(messageIds(path));
  const start = startOf(path, { from, after }, positions);
  const page = path.slice(start, start + limitOf(given, 50));
  const whole = hydrateBlobs(page, await loadBlobs(store, id, page));
  const shown = whole.map((entry) => ({
    ...shownItem(entry, MAX_TEXT_BYTES, 0),
    ...positionOf(entry, positions),
  }));
  const head = { ...shownSession(record), messages: positions.count };
  const { items, cutAt } = itemsThatFit(shown, head);
  const end = start + (cutAt ?? page.length);
  const isLast = end >= path.length;
  return {
    ...head,
    entries: items.filter((item) => 'text' in item && (item.text !== '' || 'calls' in item)),
    ...(cutAt !== undefined && { truncated: true }),
    next: isLast ? null : { session: id, after: path[end - 1]?.id },
  };
}

async function readEntry(
  store: Reprise['store'],
  id: string,
  all: readonly Entry[],
  entryId: string,
  offset: number,
): Promise<JsonObject> {
  const found = all.filter((entry) => entry.id === entryId).slice(-1);
  const [whole] = hydrateBlobs(found, await loadBlobs(store, id, found));
  if (whole === undefined) throw wrongValue('entry', entryId, [{ is: 'other' }]);
  const item = shownItem(whole, WHOLE_TEXT_BYTES, offset);
  const { nextOffset } = item;
  if (nextOffset === undefined) return { session: id, entries: [item], next: null };
  return {
    session: id,
    entries: [item],
    truncated: true,
    next: { session: id, entry: entryId, offset: nextOffset },
  };
}

interface ShownItem {
  readonly entryId: string;
  readonly role: string;
  readonly at: string;
  readonly text: string;
  readonly nextOffset?: number;
  readonly isCut?: true;
  readonly calls?: readonly JsonObject[];
}

function shownItem(entry: Entry, maxBytes: number, offset: number): ShownItem {
  const { id, role, text, timestamp, toolCalls = [] } = shownEntry(entry, 0);
  const part = textPart(text, offset, maxBytes);
  const calls = toolCalls.map((call) => {
    const input = textPart(JSON.stringify(call.input ?? {}), 0, MAX_INPUT_BYTES);
    return { name: call.name, input: input.text, ...(input.nextOffset !== undefined && { isCut: true }) };
  });
  return {
    entryId: id,
    role,
    at: timestamp,
    ...part,
    ...(part.nextOffset !== undefined && { isCut: true as const }),
    ...(calls.length > 0 && { calls }),
  };
}

function positionOf(
  { id }: Entry,
  positions: ReturnType<typeof positionsOf>,
): { readonly position?: number } {
  const position = positions.of(id);
  return position === undefined ? {} : { position };
}

function startOf(
  path: readonly Entry[],
  { from, after }: JsonObject,
  positions: ReturnType<typeof positionsOf>,
): number {
  if (typeof after === 'string') {
    const at = path.findIndex(({ id }) => id === after);
    if (at === -1) throw wrongValue('after', after, [{ is: 'other' }]);
    return at + 1;
  }
  const first = numberOf(from, 1);
  const position = first < 0 ? Math.max(1, positions.count + 1 + first) : Math.max(1, first);
  const id = positions.idAt(position);
  // Notes and summaries before the first message belong to it.
  if (position === 1) return 0;
  return id === undefined ? path.length : path.findIndex((entry) => entry.id === id);
}

function numberOf(value: unknown, standard: number): number {
  if (value === undefined) return standard;
  if (Number.isSafeInteger(value)) return value as number;
  throw wrongValue('from', value, [{ is: 'integer' }]);
}

function limitOf(value: unknown, standard: number): number {
  if (value === undefined) return standard;
  if (Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) <= MAX_LIMIT)
    return value as number;
  throw wrongValue('limit', value, [{ is: 'integer', min: 1, max: MAX_LIMIT }]);
}
