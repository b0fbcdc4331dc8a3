import { parseNewSessionId } from '../../../src/keys/ids.ts';
import { agentOfKey, normalizeSessionKey, parseSessionKey } from '../../../src/keys/session-key.ts';
import type { SearchQuery, SearchResult } from '../../../src/store/port/search.ts';
import type * as port from '../../../src/store/port/store.ts';
import type { VerifyReport } from '../../../src/store/port/verify-report.ts';
import { checkKey, checkSessionInit } from '../../../src/store/rules/check-input.ts';
import { canonicalTime } from '../../../src/store/shared/clock.ts';
import { blobSizes } from '../../../src/transcript/blobs.ts';
import { contentText } from '../../../src/transcript/content.ts';
import type { Entry } from '../../../src/transcript/entry.ts';
import { isObject } from '../../../src/transcript/json.ts';
import { selectContext } from '../../../src/transcript/render/select.ts';
import { fail, hashOf, type PlainSession } from './plain-data.ts';
import { PlainLines } from './plain-lines.ts';
import { plainSearch } from './plain-search.ts';

/** Sessions as their records describe them: made, found, listed and counted. */
export class PlainRecords extends PlainLines {
  async create(init: port.SessionInit): Promise<port.SessionRecord> {
    this.writable();
    checkSessionInit(init);
    const id = parseNewSessionId(init.id ?? this.options.newId());
    const key = normalizeSessionKey(init.key);
    // Also in one step.
    const imported = [...this.data.sessions.values()].find((session) => isFrom(this.origin(session), init));
    if (imported !== undefined) return this.record(imported);
    if (init.activate === true) {
      // In one step: a caller that asks meanwhile gets the same one.
      const current = this.data.active.get(key);
      if (current !== undefined) return this.record(this.find(current));
      const made = this.make(id, key, init);
      this.data.active.set(key, made.id);
      return this.record(made);
    }
    if (this.data.purged.has(id.toLowerCase())) throw fail('GONE', `${id} was purged`);
    const known = this.data.sessions.get(id.toLowerCase());
    if (known === undefined) return this.record(this.make(id, key, init));
    if (known.id === id && known.key === key) return this.record(known);
    throw fail('SESSION_EXISTS', `${known.id} is under another key`);
  }

  async get(id: string): Promise<port.SessionRecord> {
    return this.record(this.find(id));
  }

  async active(key: string): Promise<port.SessionRecord | undefined> {
    this.open();
    const id = this.data.active.get(normalizeSessionKey(key));
    return id === undefined ? undefined : this.record(this.find(id));
  }

  async activate(
    key: string,
    id: string,
    { reason, key: appendKey }: port.ActivateOptions = {},
  ): Promise<port.SessionRecord> {
    const session = this.find(id);
    checkKey(appendKey);
    if (appendKey !== undefined && session.keys.has(appendKey)) return this.record(session);
    if (session.deleted) throw fail('SESSION_DELETED', `${id} is deleted`);
    this.data.active.set(normalizeSessionKey(key), session.id);
    const data = { key: session.key, ...(reason !== undefined && { reason }) };
    const entries = [{ type: 'custom', customType: 'reprise.activate', data }];
    this.write(session, entries, hashOf(entries), appendKey);
    return this.record(session);
  }

  async list(query: port.ListQuery = {}): Promise<port.SessionPage> {
    this.open();
    const { limit = 50, cursor } = query;
    const records = [...this.data.sessions.values()].map((session) => this.record(session));
    const { sort = 'time', order = 'desc' } = query;
    if (!['time', 'messages', 'tokens'].includes(sort) || !['asc', 'desc'].includes(order))
      throw fail('INVALID_INPUT', 'no such order');
    const placed = records
      .filter((record) => matches(record, query))
      .map((record) => ({ record, place: place(record, sort) }))
      .sort((a, b) => (a.place < b.place === (order === 'asc') ? -1 : 1));
    const from = cursor === undefined ? undefined : parseCursor(cursor, sort);
    const isBehind = (at: string): boolean => from === undefined || (order === 'asc' ? at > from : at < from);
    const ahead = placed.filter((one) => isBehind(one.place));
    const page = ahead.slice(0, limit);
    return {
      sessions: page.map(({ record }) => record),
      cursor: ahead.length > limit ? (page.at(-1)?.place ?? null) : null,
    };
  }

  async search(query: SearchQuery): Promise<SearchResult> {
    this.open();
    if (query.sessionId !== undefined) this.find(query.sessionId);
    const sessions = [...this.data.sessions.values()];
    return plainSearch(
      sessions.map(({ id, key, deleted, ...session }) => ({
        ...{ id, key, deleted },
        entries: this.stored({ id, key, deleted, ...session }),
      })),
      query,
    );
  }

  async reindex(): Promise<void> {
    this.open();
  }

  /** The lines of an array cannot be reached from outside: a model has no damage to find. */
  async verify(id?: string): Promise<VerifyReport> {
    this.open();
    if (id !== undefined) this.find(id);
    return { status: 'clean', findings: [] };
  }

  async stats(): Promise<port.StoreStats> {
    this.open();
    const sessions = [...this.data.sessions.values()];
    const bytes = sessions
      .flatMap(({ lines }) => lines)
      .reduce((sum, line) => sum + Buffer.byteLength(line), 0);
    return { sessions: sessions.length, damaged: 0, bytes, behind: 0, problems: [] };
  }

  protected record(session: PlainSession): port.SessionRecord {
    const { id, key, leaf, epoch, createdAt, parentId } = session;
    const entries = this.stored(session).map(({ entry }) => entry as Entry);
    const messages = entries.flatMap(({ message }) => (isObject(message) ? [message] : []));
    const users = messages.filter(({ role }) => role === 'user');
    const assistants = messages.filter(({ role }) => role === 'assistant');
    const last = entries.findLast(({ type }) => type === 'message');
    const { owner } = this.origin(session);
    const named = entries.findLast(({ type }) => type === 'session_info')?.['name'];
    return {
      id,
      agentId: agentOfKey(key),
      sessionKey: key,
      title:
        typeof named === 'string' ? named : [...contentText(users[0]?.['content'])].slice(0, 60).join(''),
      status: session.deleted ? 'deleted' : 'open',
      active: this.data.active.get(key) === id,
      messageCount: users.length + assistants.length,
      turnCount: users.length,
      tokenEstimate: plainTokens(entries.slice(1)),
      createdAt,
      lastAt: canonicalTime(last?.['copiedAt']) ?? last?.timestamp ?? createdAt,
      ...(parentId !== undefined && { parentId }),
      ...(owner !== undefined && { owner }),
      lastSeq: session.lines.length,
      leaf,
      epoch,
      settings: selectContext(entries.slice(1)).settings,
    };
  }

  checkSeen(session: PlainSession, { ifSeen }: port.ChangeOptions): void {
    if (ifSeen === undefined) return;
    const { lastSeq, active, status } = this.record(session);
    if (lastSeq !== ifSeen.lastSeq || active !== ifSeen.active || status !== ifSeen.status)
      throw fail('PRECONDITION_FAILED', `${session.id} has changed`);
  }
}

function isFrom(
  { source }: Pick<port.SessionInit, 'source'>,
  { source: asked }: Pick<port.SessionInit, 'source'>,
): boolean {
  return asked !== undefined && source?.tool === asked.tool && source.id === asked.id;
}

/** By length alone, so that the rule is written down twice. */
function plainTokens(entries: readonly Entry[]): number {
  let tokens = 0;
  for (const entry of entries) {
    const { type, customType, message, data, tokensAfter } = entry;
    const usage = isObject(message) ? message['usage'] : undefined;
    const isCounted = customType === 'reprise.turn' || customType === 'reprise.leaf';
    const known = [
      isObject(usage) && usage['totalTokens'] !== 0 ? usage['totalTokens'] : undefined,
      type === 'compaction' ? tokensAfter : undefined,
      isCounted && isObject(data) ? data['tokenEstimate'] : undefined,
    ].find((count) => typeof count === 'number' && count >= 0);
    const bytes = [...blobSizes([entry]).values()].reduce((sum, size) => sum + size, textLength(message));
    tokens = known === undefined ? tokens + bytes / 4 : Number(known);
  }
  return Math.ceil(tokens);
}

function textLength(message: unknown): number {
  return isObject(message) ? contentText(message['content']).length : 0;
}

function matches(
  record: port.SessionRecord,
  { agentId, kind, channel, parentId, owner, status = 'open', text }: port.ListQuery,
): boolean {
  const parts = parseSessionKey(record.sessionKey);
  return (
    (status === 'any' || record.status === status) &&
    (agentId === undefined || record.agentId === agentId) &&
    (kind === undefined || parts.kind === kind) &&
    (channel === undefined || ('channel' in parts && parts.channel === channel)) &&
    (parentId === undefined || record.parentId === parentId) &&
    (owner === undefined || record.owner === owner) &&
    (text === undefined || folded(record.title).includes(folded(text)))
  );
}

/** Of letters beyond ASCII the case counts. */
function folded(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

/** The position of a record in a list; also the cursor after it. */
function place({ lastAt, id, messageCount, tokenEstimate }: port.SessionRecord, sort: port.ListSort): string {
  const count = String(sort === 'messages' ? messageCount : tokenEstimate).padStart(12, '0');
  return `${sort} ${sort === 'time' ? lastAt : count} ${id}`;
}

function parseCursor(cursor: string, sort: port.ListSort): string {
  if (cursor.startsWith(`${sort} `)) return cursor;
  throw fail('INVALID_INPUT', 'not a cursor of this store');
}
