import { createHash } from 'node:crypto';
import { RepriseError } from '../../errors.ts';
import { failure } from '../../messages/failure.ts';
import { copyHistory } from '../../store/copy/copy-history.ts';
import type { ConvlogChatRef, ConvlogLine } from '../../store/port/convlog.ts';
import type { NewEntry, Store } from '../../store/port/store.ts';
import { extractBlobs } from '../../transcript/blobs.ts';
import type { Entry } from '../../transcript/entry.ts';
import { isObject, type JsonObject } from '../../transcript/json.ts';
import { type PlannedSession, type PlanOptions, planSession, type SessionPlan } from './plan-session.ts';
import type { FoundConvlog, FoundSession, ImportSource } from './source.ts';
import type { KeyClaims } from './source-key.ts';
import { settingsEntry } from './source-settings.ts';

export interface ImportOptions extends PlanOptions {
  /** Only return the plan. */
  readonly dryRun?: boolean;
  readonly onSession?: (plan: SessionPlan, done: number, total: number) => void;
}

export interface ImportReport {
  readonly sessions: readonly SessionPlan[];
  /** Number of channel log lines that were added. */
  readonly convlogLines: number;
  readonly problems: readonly string[];
}

/**
 * Imports every session of a source into a store. Each is identified by the hash of its content, so a repeated or
 * interrupted import writes only what is missing. A session that cannot be read does not stop the others.
 */
export async function runImport(
  store: Store,
  source: ImportSource,
  options: ImportOptions = {},
): Promise<ImportReport> {
  const { dryRun = false, acceptSettings = false, onSession } = options;
  const sessions: SessionPlan[] = [];
  const problems = [...source.problems];
  const claims: KeyClaims = new Map();
  for (const found of source.sessions) {
    const planned = await planSafely(store, found, options, claims);
    const plan = 'plan' in planned ? planned.plan : planned;
    if ('plan' in planned && !dryRun) {
      if (plan.action === 'new' || plan.action === 'resume') await importSession(store, planned);
      const isLate = plan.action === 'settings' || (acceptSettings && plan.settingsNotApplied.length > 0);
      if (isLate) await applySettings(store, planned);
    }
    sessions.push(plan);
    onSession?.(plan, sessions.length, source.sessions.length);
  }
  let convlogLines = 0;
  for (const convlog of source.convlogs) {
    const { lines, problem } = await readConvlog(convlog, options);
    if (problem !== undefined) problems.push(problem);
    convlogLines += await importConvlog(store, lines, dryRun);
  }
  return { sessions, convlogLines, problems };
}

async function planSafely(
  store: Store,
  found: FoundSession,
  options: PlanOptions,
  claims: KeyClaims,
): Promise<PlannedSession | SessionPlan> {
  try {
    return await planSession(store, found, options, claims);
  } catch (error) {
    if (!isSourceFault(error)) throw error;
    const empty = { id: '', key: '', title: found.title ?? '', messages: 0, entries: 0, conflict: false };
    const settingsNotApplied: readonly string[] = [];
    return { place: found.place, action: 'unreadable', ...empty, settingsNotApplied, notes: [error.message] };
  }
}

/** A problem of the source, not of the target store. */
function isSourceFault(error: unknown): error is RepriseError {
  return (
    error instanceof RepriseError && ['INVALID_INPUT', 'NOT_FOUND', 'LIMIT_EXCEEDED'].includes(error.code)
  );
}

async function importSession(store: Store, planned: PlannedSession): Promise<void> {
  const { plan, entries, settings, title, cwd, parentId, times, chosenKey } = planned;
  const { id, key } = plan;
  const { createdAt } = times;
  await store.create({
    id,
    key,
    settings: importMark(planned, 'copying'),
    ...(cwd !== undefined && { cwd }),
    ...(parentId !== undefined && { parentId }),
    ...(createdAt !== undefined && { createdAt }),
  });
  const blobs = new Map<string, Uint8Array>();
  const lean = entries.map((entry) => extractBlobs<Entry>(entry, (bytes) => keep(blobs, bytes)));
  await copyHistory(store, id, lean, {
    blobsFrom: { id, store: { blob: (_, name) => blobOf(blobs, name) } },
  });
  const { title: made, settings: copied } = await store.get(id);
  const fresh = Object.entries(settings).filter(
    ([name, value]) => JSON.stringify(copied[name]) !== JSON.stringify(value),
  );
  if (fresh.length > 0)
    await store.append(id, [settingsEntry(Object.fromEntries(fresh))], { key: 'import-settings' });
  if (title !== undefined && title !== made)
    await store.append(id, [{ type: 'session_info', name: title }], { key: 'import-title' });
  const { takesKey, instead } = chosenKey;
  const holder = takesKey ? (await store.active(key))?.id : undefined;
  if (takesKey && (holder === undefined || holder === instead)) await store.activate(key, id);
  // The time of the last entry determines how recent the session is.
  await store.append(id, [datedEntry(importMark(planned, 'done'), times.lastAt)], { key: 'import-done' });
}

/** One append, so that a crash leaves either none of the settings or all of them. */
async function applySettings(store: Store, planned: PlannedSession): Promise<void> {
  const { plan, later, identity } = planned;
  const { lastAt, settings } = await store.get(plan.id);
  const { settingsNotApplied: _, ...before } = isObject(settings['importedFrom'])
    ? settings['importedFrom']
    : {};
  const importedFrom = { ...before, hash: identity.hash, state: 'done' };
  await store.append(plan.id, [...later, datedEntry({ importedFrom }, lastAt)]);
}

function importMark(
  { plan, identity, sourceKey: key }: PlannedSession,
  state: 'copying' | 'done',
): JsonObject {
  const { hash, agentId } = identity;
  const { settingsNotApplied: left } = plan;
  const optional = {
    ...(agentId !== undefined && { agentId }),
    ...(key !== undefined && { key }),
    ...(left.length > 0 && { settingsNotApplied: left }),
  };
  return { importedFrom: { hash, state, at: new Date().toISOString(), ...optional } };
}

/** An entry with the time of the last message, so that the session does not become the most recent one. */
function datedEntry(settings: JsonObject, lastAt: string | undefined): NewEntry {
  return { ...settingsEntry(settings), ...(lastAt !== undefined && { copiedAt: lastAt }) };
}

function keep(blobs: Map<string, Uint8Array>, bytes: Uint8Array): string {
  const name = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
  blobs.set(name, bytes);
  return name;
}

async function blobOf(blobs: ReadonlyMap<string, Uint8Array>, name: string): Promise<Uint8Array> {
  const bytes = blobs.get(name);
  if (bytes === undefined) throw failure('NOT_FOUND', 'import.noBlob', { blob: name });
  return bytes;
}

async function readConvlog(
  convlog: FoundConvlog,
  { agentId }: PlanOptions,
): Promise<{ readonly lines: readonly ConvlogLine[]; readonly problem?: string }> {
  const { lines, problems } = await convlog.read().catch((error: unknown) => {
    if (isSourceFault(error)) return { lines: [], problems: [error.message] };
    throw error;
  });
  const mine = agentId === undefined ? lines : lines.map((line) => ({ ...line, agentId }));
  return { lines: mine, ...(problems.length > 0 && { problem: `${convlog.place}: ${problems.join('; ')}` }) };
}

const BATCH = 500;

/** Lines have no ids, so existing ones are recognized by time, sender and text. */
async function importConvlog(store: Store, lines: readonly ConvlogLine[], dryRun: boolean): Promise<number> {
  const chats = Map.groupBy(lines, ({ agentId, channelType, channelId }) =>
    JSON.stringify([agentId, channelType, channelId]),
  );
  let count = 0;
  for (const [first, ...rest] of chats.values()) {
    if (first === undefined) continue;
    const here = await knownLines(store, first);
    const missing = [first, ...rest].filter((line) => {
      const left = here.get(nameOf(line)) ?? 0;
      here.set(nameOf(line), left - 1);
      return left <= 0;
    });
    count += missing.length;
    for (let at = 0; !dryRun && at < missing.length; at += BATCH)
      await store.convlog.append(missing.slice(at, at + BATCH));
  }
  return count;
}

async function knownLines(store: Store, chat: ConvlogLine): Promise<Map<string, number>> {
  const known = new Map<string, number>();
  const { agentId, channelType, channelId } = chat;
  if (!(await isKnown(store, { agentId, channelType, channelId }))) return known;
  for (let from: number | null = 1; from !== null; ) {
    const page = await store.convlog.read(chat, { from, limit: 1000 });
    for (const line of page.lines) known.set(nameOf(line), (known.get(nameOf(line)) ?? 0) + 1);
    from = page.next;
  }
  return known;
}

async function isKnown(store: Store, chat: ConvlogChatRef): Promise<boolean> {
  try {
    await store.convlog.read(chat, { limit: 1 });
    return true;
  } catch (error) {
    if (error instanceof RepriseError && error.code === 'NOT_FOUND') return false;
    throw error;
  }
}

function nameOf({ ts, role, content, sender }: ConvlogLine): string {
  return JSON.stringify([ts, role, content, sender?.id]);
}
