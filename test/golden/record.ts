import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { ModelRequest } from '../../src/exports/models.ts';
import { decodeLine, entryIdForSeq } from '../../src/exports/transcript.ts';
import type { TurnEvent } from '../../src/index.ts';
import type { World } from './world.ts';

/**
 * What a scenario left, as one JSON object per line: events, streams, requests, stored lines, messages and sessions.
 * Random ids get names in order of appearance, measured times are masked, and long texts are cut.
 */
export async function record(world: World): Promise<string> {
  const { store } = world.reprise;
  const listed = await store.list({ status: 'any', order: 'asc', limit: 100 });
  for (const { sessionId } of world.tapped) world.meet({ id: sessionId });
  for (const session of listed.sessions) world.meet(session);
  const inboxIds = new Set([...world.inboxIds, ...world.tapped.flatMap(({ inboxId }) => inboxId ?? [])]);
  const names = new Names();
  for (const id of world.sessionIds) names.name('session', id);
  for (const id of inboxIds) names.name('message', id);
  for (const { event } of world.tapped) if (event.type === 'turn_start') names.name('turn', event.turnId);

  const out: object[] = [];
  for (const id of world.sessionIds) out.push(...eventLines(world, id));
  for (const sent of world.streams) out.push({ stream: sent.inboxId, events: inShort(sent.events) });
  out.push(...requestLines(world));
  for (const id of world.sessionIds) out.push(...storedLines(id, await store.exportSession(id)));
  for (const { chat, lines } of await channelLogs(world))
    for (const { ts: _, ...line } of lines) out.push({ log: chat, ...line });
  for (const id of inboxIds) out.push({ message: id, ...(await world.reprise.inbox(id)) });
  for (const id of world.sessionIds) {
    const { id: _, createdAt: __, lastAt: ___, epoch: ____, ...session } = await store.get(id);
    out.push({ session: id, ...session });
  }
  const { status, findings } = await store.verify();
  out.push({ verify: status, ...(findings.length > 0 && { findings }) });
  return out.map((line) => `${JSON.stringify(names.tidy(line))}\n`).join('');
}

/** In order. An event that several messages have in common stands there once. */
function eventLines({ tapped }: World, id: string): object[] {
  const lines: { readonly messages: string[]; readonly event: TurnEvent }[] = [];
  for (const { sessionId, inboxId, event } of tapped) {
    if (sessionId !== id) continue;
    const last = lines.at(-1);
    const messages = inboxId === undefined ? [] : [inboxId];
    const isSame = last !== undefined && JSON.stringify(last.event) === JSON.stringify(event);
    if (isSame && inboxId !== undefined && !last.messages.includes(inboxId)) last.messages.push(inboxId);
    else lines.push({ messages, event });
  }
  return lines.map(({ messages, event }) => ({
    event: id,
    ...(messages.length > 0 && { for: messages.join(' ') }),
    ...event,
  }));
}

/**
 * By session: the order of requests of several sessions is open. Of the messages and tools those that differ from the
 * request before.
 */
function requestLines({ model, sessionIds }: World): object[] {
  const lines: object[] = [];
  for (const session of [...sessionIds, undefined]) {
    let before: ModelRequest = { messages: [] };
    for (const request of model.requests.filter(({ cacheKey }) => cacheKey === session)) {
      const { messages, cacheKey: _, tools, ...rest } = request;
      const from = messages.findIndex((message, i) => !isDeepStrictEqual(message, before.messages[i]));
      const same = from === -1 ? Math.min(messages.length, before.messages.length) : from;
      const isSameTools = before.tools !== undefined && isDeepStrictEqual(tools, before.tools);
      lines.push(
        {
          request: session ?? 'no session',
          ...rest,
          ...(tools !== undefined && { tools: isSameTools ? 'as before' : tools }),
          ...{ messages: messages.length, asBefore: same },
        },
        ...messages.slice(same).map((message) => ({ says: session ?? 'no session', ...message })),
      );
      before = request;
    }
  }
  return lines;
}

/** A line as it is stored, with a seal that fits it. */
function storedLines(session: string, bytes: Uint8Array): object[] {
  const lines = Buffer.from(bytes).toString().split('\n').slice(0, -1);
  return lines.map((text) => {
    const decoded = decodeLine(Buffer.from(text));
    if (decoded.kind !== 'record') throw new Error(`a stored line is ${decoded.kind}: ${text}`);
    const { seal: _, timestamp: __, ...line } = decoded.record;
    const { seal } = decoded;
    const sealed = seal === undefined || seal === 'broken' ? { seal: String(seal) } : {};
    return { line: session, ...line, ...sealed };
  });
}

async function channelLogs({ reprise }: World) {
  const { chats } = await reprise.convlog.list({ limit: 100 });
  const sorted = [...chats].sort((a, b) => a.channelId.localeCompare(b.channelId));
  return Promise.all(
    sorted.map(async (chat) => ({
      chat: `${chat.channelType}:${chat.channelId}`,
      lines: (await reprise.convlog.read(chat, { limit: 100 })).lines,
    })),
  );
}

/**
 * What a stream gave; the events say the rest. Which entries it names depends on when it looks, as long as another
 * message is answered.
 */
function inShort(events: readonly TurnEvent[]): string {
  const short = events.flatMap((event) => {
    switch (event.type) {
      case 'entry':
        return [];
      case 'queued':
        return `queued:${event.position}`;
      case 'error':
        return `error:${event.code}`;
      default:
        return event.type;
    }
  });
  return short.join(' ');
}

const UUID = /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g;
/** Measured, or taken from the clock of the store, which moves with each line however many there are. */
const MASKED: ReadonlySet<string> = new Set([
  'minutesAgo',
  'latencyMs',
  'durationMs',
  'timestamp',
  'updatedAt',
  'createdAt',
  'copiedAt',
]);
const MAX_CHARS = 240;
const SHOWN_CHARS = 80;
const MAX_SEQ = 500;
const ENTRY_NAMES: ReadonlyMap<string, string> = new Map(
  Array.from({ length: MAX_SEQ }, (_, i) => [entryIdForSeq(i + 1), `#${i + 1}`]),
);
const ENTRY_ID = /\b[0-9a-f]{8}\b/g;

class Names {
  readonly #names: Map<string, string> = new Map();
  readonly #counts: Map<string, number> = new Map();

  name(kind: string, id: string): string {
    const known = this.#names.get(id);
    if (known !== undefined) return known;
    const count = (this.#counts.get(kind) ?? 0) + 1;
    this.#counts.set(kind, count);
    const name = `<${kind} ${count}>`;
    this.#names.set(id, name);
    return name;
  }

  tidy(value: unknown): unknown {
    if (typeof value === 'string') return cut(this.#withNames(value));
    if (Array.isArray(value)) return value.map((each) => this.tidy(each));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).flatMap(([name, each]) => {
        if (each === undefined) return [];
        if (MASKED.has(name)) return [[name, '<time>']];
        // The request it belongs to is recorded; its ids are not the ones that were hashed.
        if (name === 'hash') return [[name, this.name('hash', String(each))]];
        return [[this.#withNames(name), this.tidy(each)]];
      }),
    );
  }

  #withNames(text: string): string {
    let named = text;
    for (const [id, name] of this.#names) named = named.replaceAll(id, name);
    return (
      named
        // The store has its own clock.
        .replace(/\d+ (?:min|h|days) ago/g, '<time> ago')
        .replace(UUID, (id) => this.name('id', id))
        .replace(ENTRY_ID, (id) => ENTRY_NAMES.get(id) ?? id)
    );
  }
}

function cut(text: string): string {
  if (text.length <= MAX_CHARS) return text;
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 12);
  return `${text.slice(0, SHOWN_CHARS)}… [${text.length} characters, sha256 ${hash}]`;
}
