import { RepriseError } from '../../../src/errors.ts';
import { parseAgentId } from '../../../src/keys/ids.ts';
import type * as port from '../../../src/store/port/convlog.ts';

/** The convlog on an array: its steps are methods, so that broken-stores.ts can replace them. */
export class PlainConvlog implements port.Convlog {
  readonly lines: port.StoredConvlogLine[];
  readonly #numbers: Map<string, number> = new Map();
  readonly #now: () => string;
  readonly #open: () => void;
  readonly #writable: () => void;

  constructor(
    lines: port.StoredConvlogLine[],
    now: () => string,
    { open, writable }: { readonly open: () => void; readonly writable: () => void },
  ) {
    this.lines = lines;
    this.#now = now;
    this.#open = open;
    this.#writable = writable;
  }

  async append(lines: readonly port.ConvlogLine[]): Promise<void> {
    this.#writable();
    this.write(lines);
  }

  check(line: port.ConvlogLine): void {
    parseAgentId(line.agentId);
    const names = [line.channelType, line.channelId, line.sender?.id ?? 'none'];
    if (names.some((name) => typeof name !== 'string' || name === '' || name.length > 1024))
      throw bad('a name');
    if (!['user', 'assistant', 'system'].includes(line.role)) throw bad('the role');
    if (typeof line.content !== 'string') throw bad('the content');
    if (line.ts !== undefined && Number.isNaN(Date.parse(line.ts))) throw bad('the time');
    if (line.content.length > 16 * 1024 * 1024)
      throw new RepriseError('LIMIT_EXCEEDED', 'too long', { details: { limit: 'record' } });
  }

  write(lines: readonly port.ConvlogLine[]): void {
    for (const line of lines) this.check(line);
    for (const line of lines) {
      const number = (this.#numbers.get(nameOf(line)) ?? this.of(line).length) + 1;
      this.#numbers.set(nameOf(line), number);
      const ts = line.ts === undefined ? this.#now() : new Date(line.ts).toISOString();
      this.lines.push(structuredClone({ ...line, number, ts }));
    }
  }

  /** Numbers are not given again, unless nothing is left of the chat. */
  erase(sessionId: string): void {
    const kept = this.lines.filter((line) => line.sessionId !== sessionId);
    for (const [name, number] of this.#last()) this.#numbers.set(name, this.#numbers.get(name) ?? number);
    this.lines.splice(0, Number.POSITIVE_INFINITY, ...kept);
    const left = new Set(kept.map(nameOf));
    for (const name of [...this.#numbers.keys()]) if (!left.has(name)) this.#numbers.delete(name);
  }

  #last(): Map<string, number> {
    return new Map(this.lines.map((line) => [nameOf(line), line.number]));
  }

  of(chat: port.ConvlogChatRef): port.StoredConvlogLine[] {
    return this.lines.filter((line) => nameOf(line) === nameOf(chat));
  }

  async list(query: port.ConvlogQuery = {}): Promise<port.ConvlogPage> {
    this.#open();
    const { limit = 50, cursor, agentId, channelType, member, text = '', sort = 'time' } = query;
    if (query.withTotal === true && text !== '') throw bad('a total of the chats that contain a text');
    const names = [...new Set(this.lines.map(nameOf))];
    const chats = names
      .map((name, i) => ({ i, lines: this.lines.filter((line) => nameOf(line) === name) }))
      .filter(({ lines }) => lines.some((line) => holds(line, text)))
      .filter(({ lines }) => member === undefined || lines.some((line) => isBy(line, member)))
      .map(({ i, lines }) => ({ i, chat: summary(lines) }))
      .filter(({ chat }) => agentId === undefined || chat.agentId === agentId)
      .filter(({ chat }) => channelType === undefined || isSameType(chat.channelType, channelType))
      .map(({ i, chat }) => ({ chat, place: place(sort === 'time' ? chat.lastAt : chat.messages, i) }))
      .sort((a, b) => (a.place < b.place ? 1 : -1));
    const rest = chats.filter(({ place: at }) => cursor === undefined || at < parse(cursor));
    const page = rest.slice(0, limit);
    return {
      chats: page.map(({ chat }) => chat),
      cursor: rest.length > limit ? (page.at(-1)?.place ?? null) : null,
      complete: true,
      ...(query.withTotal === true && { total: chats.length }),
    };
  }

  async read(chat: port.ConvlogChatRef, range: port.ConvlogRange = {}): Promise<port.ConvlogLinePage> {
    this.#open();
    const { limit = 50, direction = 'forward', text = '', member } = range;
    if (!Number.isSafeInteger(limit) || limit < 1) throw bad('the limit');
    const all = this.of(chat);
    if (all.length === 0) throw new RepriseError('NOT_FOUND', 'no such chat', { outcome: 'none' });
    const from = range.from ?? (direction === 'forward' ? 1 : all.length);
    const ahead = (
      direction === 'forward'
        ? all.filter(({ number }) => number >= from)
        : all.filter(({ number }) => number <= from).reverse()
    ).filter((line) => holds(line, text) && (member === undefined || isBy(line, member)));
    const next = ahead[limit]?.number ?? null;
    return { lines: structuredClone(ahead.slice(0, limit)), hasMore: next !== null, next };
  }
}

function summary(lines: readonly port.StoredConvlogLine[]): port.ConvlogChat {
  const [first] = lines as readonly [port.StoredConvlogLine];
  const { agentId, channelType, channelId } = first;
  const times = lines.map(({ ts }) => ts).sort();
  const lastAt = times.at(-1) ?? '';
  const members = new Map(lines.flatMap(({ sender }) => (sender === undefined ? [] : [[sender.id, sender]])));
  const speakers = lines.toReversed().flatMap(({ sender }) => (sender === undefined ? [] : [sender.id]));
  return {
    agentId,
    channelType,
    channelId,
    messages: lines.length,
    firstAt: times[0] ?? '',
    lastAt,
    lastText: lines.findLast(({ ts }) => ts === lastAt)?.content.slice(0, 200) ?? '',
    members: [...new Set(speakers)].flatMap((id) => members.get(id) ?? []),
  };
}

const isSameType = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase();

const nameOf = ({ agentId, channelType, channelId }: port.ConvlogChatRef): string =>
  JSON.stringify([agentId, channelType, channelId]);

const place = (by: string | number, i: number): string =>
  `${String(by).padStart(24, '0')} ${String(i).padStart(9, '0')}`;

function parse(cursor: string): string {
  if (/^\S{24} \d{9}$/.test(cursor)) return cursor;
  throw bad('the cursor');
}

const holds = ({ content }: port.ConvlogLine, text: string): boolean =>
  content.toLowerCase().includes(text.toLowerCase());

const isBy = ({ sender }: port.ConvlogLine, member: string): boolean =>
  sender?.id === member || sender?.name?.toLowerCase() === member.toLowerCase();

function bad(what: string): RepriseError {
  return new RepriseError('INVALID_INPUT', `${what} is not right`, { outcome: 'none' });
}
