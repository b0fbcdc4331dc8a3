import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openStore, type StoreKind } from '../../../src/config/open.ts';
import type { InboxState } from '../../../src/exports/store.ts';
import type { Entry, Store } from '../../../src/index.ts';
import { REQUEST_KINDS, request } from './requests.ts';

/** A message as its sender knows it. */
export interface SentMessage {
  readonly key: string;
  readonly session: string;
  readonly text: string;
  inboxId?: string;
  sessionId?: string;
  state?: InboxState;
}

const ENDS: ReadonlySet<InboxState> = new Set(['done', 'interrupted', 'failed']);

export interface JudgedHome {
  readonly home: string;
  readonly store: StoreKind;
  /** How many entries of each session have been judged as requests: a prefix that was valid stays so. */
  readonly judged: Map<string, number>;
}

/** What is wrong with a home after a kill. Nothing it has reported before may change. */
export async function judgeTurns(
  { home, store: kind, judged }: JudgedHome,
  messages: readonly SentMessage[],
): Promise<string[]> {
  await using store = await openStore({ kind, home, durability: 'os' });
  const wrong: string[] = [];
  const { status, findings } = await store.verify();
  if (status !== 'clean') wrong.push(`verify: ${status} ${JSON.stringify(findings)}`);
  for (const complaint of notes(home, 'complaints')) wrong.push(`invalid: ${JSON.stringify(complaint)}`);
  const ids = new Set(messages.flatMap(({ sessionId }) => sessionId ?? []));
  const stored = new Map<string, Entry[]>();
  for (const id of ids) stored.set(id, await readAll(store, id));
  for (const message of messages) wrong.push(...(await judgeMessage(store, message, stored)));
  wrong.push(...judgeTools(home, [...stored.values()].flat()));
  for (const [id, entries] of stored) {
    wrong.push(...judgeRequests(entries, judged.get(id) ?? 0));
    judged.set(id, entries.length);
  }
  return wrong;
}

async function judgeMessage(
  store: Store,
  message: SentMessage,
  stored: ReadonlyMap<string, Entry[]>,
): Promise<string[]> {
  const { key, text, inboxId, sessionId = '' } = message;
  if (inboxId === undefined) return [];
  const wrong: string[] = [];
  const { state, detail } = await store.inbox.get(inboxId);
  const entries = stored.get(sessionId) ?? [];
  const said = entries.filter((entry) => messageOf(entry)['content'] === text).length;
  const ends = entries.filter(({ customType, data }) => {
    return customType === 'reprise.turn' && (data as { inboxId?: string }).inboxId === inboxId;
  }).length;
  if (message.state !== undefined && message.state !== state)
    wrong.push(`${key} was ${message.state}, is ${state}`);
  if (ENDS.has(state)) {
    message.state = state;
    if (said !== 1) wrong.push(`${key} is ${state} and stands ${said} times in the transcript`);
    if (ends !== 1) wrong.push(`${key} is ${state} and ended ${ends} times in the transcript`);
    wrong.push(...judgeCalls(entries, message).map((what) => `${key} is ${state}: ${what}`));
    const { reason } = (detail?.['details'] ?? {}) as { reason?: string };
    if (state === 'failed' && reason !== 'crash-loop') wrong.push(`${key}: ${JSON.stringify(detail)}`);
  } else if (state !== 'accepted' && state !== 'running') wrong.push(`${key} is ${state}`);
  else if (said > 1 || ends > 1) wrong.push(`${key} is ${state} and stands ${said} times, ended ${ends}`);
  return wrong;
}

/** Every call has one result for good, and a sender whose message is done lost no tool with side effects. */
function judgeCalls(entries: readonly Entry[], { text, state }: SentMessage): string[] {
  const own = `call_${text.split(' ')[0]}_`;
  const calls = entries.flatMap(callIds).filter((id) => id.startsWith(own));
  return calls.flatMap((id) => {
    const results = entries.map(messageOf).filter(({ toolCallId }) => toolCallId === id);
    if (results.length !== 1) return [`${id} has ${results.length} results`];
    const [{ toolName, isError } = {}] = results;
    return state === 'done' && toolName === 'unsafe' && isError === true ? [`${id} was cut off`] : [];
  });
}

/** Nothing ran that was not asked for on disk, and nothing unsafe ran twice. */
function judgeTools(home: string, entries: readonly Entry[]): string[] {
  const asked = new Set(entries.flatMap(callIds));
  const runs = notes<{ id: string; name: string }>(home, 'tools');
  const unsafe = runs.filter(({ name }) => name === 'unsafe').map(({ id }) => id);
  const twice = unsafe.filter((id, i) => unsafe.indexOf(id) !== i);
  const unasked = runs.filter(({ id }) => !asked.has(id));
  return [
    ...twice.map((id) => `${id} ran twice`),
    ...unasked.map(({ id }) => `${id} ran before it was stored`),
  ];
}

/** Every request this history has been good for, as each provider would have got it. */
function judgeRequests(entries: readonly Entry[], from: number): string[] {
  const wrong: string[] = [];
  for (let i = from; i < entries.length; i++) {
    const entry = entries[i];
    const { role } = messageOf(entry);
    if (role !== 'user' && role !== 'toolResult') continue;
    if (messageOf(entries[i + 1])['role'] === role) continue;
    for (const kind of REQUEST_KINDS)
      for (const { message } of kind.validate(request(entries.slice(0, i + 1), kind)))
        wrong.push(`${kind.name}, request ${i}: ${message}`);
  }
  return wrong;
}

export async function readAll(store: Store, id: string): Promise<Entry[]> {
  const { entries } = await store.read(id, { limit: 1000 });
  const all = entries.flatMap(({ entry }) => (entry.type === 'session' ? [] : [entry as Entry]));
  for (let from = (entries.at(-1)?.seq ?? 0) + 1; ; ) {
    const page = await store.read(id, { from, limit: 1000 });
    all.push(...page.entries.map(({ entry }) => entry as Entry));
    const last = page.entries.at(-1);
    if (last === undefined) return all;
    from = last.seq + 1;
  }
}

export function notes<T>(home: string, file: string): T[] {
  const path = join(home, `${file}.log`);
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as T);
}

export function messageOf(entry: Entry | undefined): Readonly<Record<string, unknown>> {
  return (entry?.['message'] ?? {}) as Record<string, unknown>;
}

function callIds(entry: Entry): string[] {
  const { content } = messageOf(entry);
  if (!Array.isArray(content)) return [];
  return content.flatMap((block: { type?: string; id?: string }) =>
    block.type === 'toolCall' ? [String(block.id)] : [],
  );
}
