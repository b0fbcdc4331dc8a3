import type { Entry } from '../../src/index.ts';
import { contentText } from '../../src/transcript/content.ts';
import { REQUEST_KINDS, request } from '../support/engine/requests.ts';
import { messageOf } from '../support/engine/turn-judge.ts';
import type { Judged } from './judge.ts';
import { answeredIn, hear } from './spoken.ts';

/** By what a provider asks for most; the projections for all of them are tested where they are made. */
const STRICTEST = REQUEST_KINDS.slice(0, 2);
/** Messages that may come in before others that wait. */
const JUMPS: ReadonlySet<unknown> = new Set(['steer', 'steer-backlog', 'interrupt']);

/** What is wrong with the history of one session. */
export function judgeTranscript(id: string, entries: readonly Entry[], judged: readonly Judged[]): string[] {
  const own = new Map(
    judged.filter(({ item }) => item.sessionId === id).map((one) => [one.sent.delivery.name, one]),
  );
  return [
    ...judgeOrder(entries, own),
    ...judgeAnswers(entries, own),
    ...judgeTurns(entries, own),
    ...judgeCommands(entries),
    ...judgeRequest(entries),
  ];
}

/** The names of user messages in an entry, including messages that only a note lists. */
export function namesIn(entry: Entry): string[] {
  if (entry.type === 'custom_message') return hear(contentText(entry['content'])).map(({ name }) => name);
  const { role, content } = messageOf(entry);
  return role === 'user' ? hear(contentText(content)).map(({ name }) => name) : [];
}

type Own = ReadonlyMap<string | undefined, Judged>;

/** Messages stand in the order they were accepted; only one that may join a turn stands before one that waits. */
function judgeOrder(entries: readonly Entry[], own: Own): string[] {
  const stands = entries.flatMap(namesIn).flatMap((name) => own.get(name) ?? []);
  const said = stands.filter(({ item }) => item.state !== 'dropped');
  const wrong: string[] = [];
  for (const [i, later] of said.entries()) {
    for (const earlier of said.slice(0, i)) {
      if (earlier.item.createdAt <= later.item.createdAt) continue;
      if (JUMPS.has(modeOf(earlier)) && !JUMPS.has(modeOf(later))) continue;
      const [jumper, waiter] = [earlier, later].map((one) => `${one.sent.delivery.name} (${modeOf(one)})`);
      wrong.push(`${jumper} stands before ${waiter}, which was accepted first`);
    }
  }
  return wrong;
}

/** As it was decided when the message was accepted. */
function modeOf({ item }: Judged): unknown {
  return (item.body['queue'] as { mode?: unknown } | undefined)?.mode;
}

/** No message is answered twice, and an answer is for messages before it that were not answered yet. */
function judgeAnswers(entries: readonly Entry[], own: Own): string[] {
  const wrong: string[] = [];
  const answered = new Set<string>();
  let open: string[] = [];
  for (const entry of entries) {
    open.push(...namesIn(entry));
    const { role, content } = messageOf(entry);
    if (role !== 'assistant') continue;
    const names = answeredIn(contentText(content));
    if (names.length === 0) continue;
    for (const name of names) {
      if (answered.has(name)) wrong.push(`${name} was answered twice`);
      answered.add(name);
    }
    if (names.join() !== open.join()) wrong.push(`an answer is for [${names}], but [${open}] was open`);
    open = [];
  }
  for (const [name, { item }] of own)
    if (name !== undefined && item.state === 'done' && !answered.has(name))
      wrong.push(`${name} is done and has no answer`);
  return wrong;
}

/** A message whose turn ended did so once, as its row says. */
function judgeTurns(entries: readonly Entry[], own: Own): string[] {
  const ends = new Map<unknown, unknown[]>();
  for (const { customType, data } of entries) {
    if (customType !== 'reprise.turn') continue;
    const { inboxId, status } = data as { inboxId?: string; status?: string };
    ends.set(inboxId, [...(ends.get(inboxId) ?? []), status]);
  }
  return [...own].flatMap(([name, { item }]) => {
    const found = ends.get(item.inboxId) ?? [];
    if (name === undefined) return found.length === 0 ? [] : [`a command had a turn`];
    if (found.length > 1) return [`the turn of ${name} ended ${found.length} times: ${found.join(', ')}`];
    if (item.state === 'done' && found[0] !== 'done')
      return [`${name} is done, its turn ended as ${found[0]}`];
    // Stopped by another process while the last words of the answer were written: its sender was informed of the stop.
    if (item.state === 'cancelled' && item.detail?.['reason'] === 'stopped') return [];
    if (item.state !== 'done' && found[0] === 'done')
      return [`${name} is ${item.state}, its turn ended as done`];
    return [];
  });
}

function judgeCommands(entries: readonly Entry[]): string[] {
  return entries.flatMap((entry) => {
    const { role, content } = messageOf(entry);
    const text = contentText(content);
    return role === 'user' && text.startsWith('/') ? [`a command is stored: ${text}`] : [];
  });
}

function judgeRequest(entries: readonly Entry[]): string[] {
  if (!entries.some((entry) => messageOf(entry)['role'] === 'user')) return [];
  return STRICTEST.flatMap((kind) =>
    kind.validate(request(entries, kind)).map(({ message }) => `${kind.name}: ${message}`),
  );
}
