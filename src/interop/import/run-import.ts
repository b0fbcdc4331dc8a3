import { RepriseError } from '../../errors.ts';
import { copyHistory } from '../../store/copy/copy-history.ts';
import type { ConvlogChatRef, ConvlogLine } from '../../store/port/convlog.ts';
import type { SessionSource } from '../../store/port/sources.ts';
import type { NewEntry, Store } from '../../store/port/store.ts';
import type { Entry } from '../../transcript/entry.ts';
import { isObject, type JsonObject } from '../../transcript/json.ts';
import { NO_LOSS } from './loss-report.ts';
import { MOVED_BY_IMPORT, type StoredPart } from './match-stored.ts';
import { type PlannedSession, type PlanOptions, planSession, type SessionPlan } from './plan-session.ts';
import type { FoundConvlog, FoundSession, ImportSource } from './source.ts';
import type { KeyClaims } from './source-key.ts';
import { settingsEntry } from './source-settings.ts';

export interface ImportOptions extends PlanOptions {
  /** Only return the plan. */
  readonly dryRun?: boolean;
  /** Do not read a session whose files have the stamp of the last import. */
  readonly skipUnchanged?: boolean;
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
  const known = options.skipUnchanged === true ? await knownStamps(store) : undefined;
  for (const found of source.sessions) {
    const same = await unchangedPlan(store, found, known);
    if (same !== undefined) {
      sessions.push(same);
      onSession?.(same, sessions.length, source.sessions.length);
      continue;
    }
    const planned = dryRun
      ? await planSafely(store, found, options, claims)
      : await planAndImport(store, found, options, claims);
    const plan = 'plan' in planned ? planned.plan : planned;
    if ('plan' in planned && !dryRun) {
      await markSource(store, found, plan);
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

/** The name of a session by its place; several sessions can be in one file. */
function placeOf({ place, id }: FoundSession): string | undefined {
  const name = id === undefined ? place : `${place}#${id}`;
  return name.length > MAX_PLACE_CHARS || !name.isWellFormed() || name.includes('\0') ? undefined : name;
}

const MAX_PLACE_CHARS = 4096;

/** The sessions and stamps of the last import, by place. */
async function knownStamps(
  store: Store,
): Promise<Map<string, { readonly id: string; readonly stamp: unknown }>> {
  const known = new Map<string, { id: string; stamp: unknown }>();
  for (let after: string | undefined; ; ) {
    const page = await store.sources.list(after === undefined ? {} : { after });
    for (const { sessionId: id, path, mark } of page.sources)
      if (path !== undefined) known.set(path, { id, stamp: mark?.['stamp'] });
    if (page.next === null) return known;
    after = page.next;
  }
}

async function unchangedPlan(
  store: Store,
  found: FoundSession,
  known: Awaited<ReturnType<typeof knownStamps>> | undefined,
): Promise<SessionPlan | undefined> {
  const before = known?.get(placeOf(found) ?? '');
  if (before === undefined || found.stamp === undefined || before.stamp !== found.stamp) return undefined;
  const {
    id,
    sessionKey: key,
    title,
    messageCount,
    createdAt,
    lastAt,
    status,
    settings,
  } = await store.get(before.id);
  const mark = isObject(settings['importedFrom']) ? settings['importedFrom'] : {};
  if (mark['state'] !== 'done') return undefined;
  const counts = { messages: messageCount, entries: 0, added: 0, changed: 0, loss: NO_LOSS };
  const named = { place: found.place, id, key, title, tool: found.tool ?? '', firstAt: createdAt, lastAt };
  const action = status === 'deleted' ? 'deleted' : 'unchanged';
  return { ...named, ...counts, action, conflict: false, settingsNotApplied: [], notes: [] };
}

/** The stamp only saves reading: a session without it is read and compared. */
async function markSource(store: Store, found: FoundSession, { id, action }: SessionPlan): Promise<void> {
  const path = placeOf(found);
  if (found.stamp === undefined || path === undefined || action === 'deleted') return;
  await store.sources.mark(id, { path, mark: { stamp: found.stamp } });
}

/** Attempts while another process writes the same session. */
const ATTEMPTS = 5;

/**
 * Two imports of one source can run at the same time, and a conversation can continue here meanwhile. The append of the
 * slower one is refused, and it plans again what is still missing.
 */
async function planAndImport(
  store: Store,
  found: FoundSession,
  options: PlanOptions,
  claims: KeyClaims,
): Promise<PlannedSession | SessionPlan> {
  for (let attempt = 1; ; attempt++) {
    const planned = await planSafely(store, found, options, claims);
    if (!('plan' in planned) || !WRITES.has(planned.plan.action)) return planned;
    try {
      await importSession(store, planned);
      return planned;
    } catch (error) {
      const isOvertaken =
        error instanceof RepriseError && (error.code === 'KEY_REUSED' || error.code === 'LEAF_MOVED');
      if (!isOvertaken || attempt === ATTEMPTS) throw error;
    }
  }
}

const WRITES: ReadonlySet<SessionPlan['action']> = new Set(['new', 'resume', 'grown']);

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
    const { place, tool = '', title = '' } = found;
    const none = { messages: 0, entries: 0, added: 0, changed: 0, firstAt: '', lastAt: '', loss: NO_LOSS };
    const named = { id: '', key: '', title, tool, conflict: false, settingsNotApplied: [] };
    return { place, action: 'unreadable', ...named, ...none, notes: [error.message] };
  }
}

/** A problem of the source, not of the target store. */
function isSourceFault(error: unknown): error is RepriseError {
  return (
    error instanceof RepriseError && ['INVALID_INPUT', 'NOT_FOUND', 'LIMIT_EXCEEDED'].includes(error.code)
  );
}

async function importSession(store: Store, planned: PlannedSession): Promise<void> {
  const { plan, entries, settings, title, cwd, parentId, times, chosenKey, part } = planned;
  const { id, key } = plan;
  const { createdAt } = times;
  const record =
    part === undefined
      ? await store.create({
          id,
          key,
          settings: importMark(planned, 'copying'),
          ...sourceOf(planned),
          ...(cwd !== undefined && { cwd }),
          ...(parentId !== undefined && { parentId }),
          ...(createdAt !== undefined && { createdAt }),
        })
      : await store.get(id);
  const stored = storedPositions(entries, part);
  const next = entries.find((_, position) => !stored.has(position));
  const parentHere = entries.findIndex((entry) => entry.id === next?.parentId);
  // New entries below the newest one here only continue it.
  const continues = stored.get(parentHere) === record.leaf;
  if (next !== undefined)
    await copyHistory(store, id, entries, {
      onto: {
        stored,
        leaf: record.leaf,
        stays: part?.isContinued === true && !continues,
        tokenEstimate: record.tokenEstimate,
        lastSeq: part?.lastSeq ?? 1,
        moveData: { [MOVED_BY_IMPORT]: true },
      },
    });
  const { title: made, settings: copied, lastAt: before } = await store.get(id);
  // A later import does not undo what was renamed or set here.
  const isFirst = plan.action === 'new' || plan.action === 'resume';
  const fresh = Object.entries(isFirst ? settings : {}).filter(
    ([name, value]) => JSON.stringify(copied[name]) !== JSON.stringify(value),
  );
  if (fresh.length > 0)
    await store.append(id, [settingsEntry(Object.fromEntries(fresh))], { key: 'import-settings' });
  if (isFirst && title !== undefined && title !== made)
    await store.append(id, [{ type: 'session_info', name: title }], { key: 'import-title' });
  const { takesKey, instead } = chosenKey;
  const holder = takesKey ? (await store.active(key))?.id : undefined;
  if (takesKey && (holder === undefined || holder === instead)) await store.activate(key, id);
  // The time of the last entry determines how recent the session is.
  const { lastAt } = times;
  const newest = isFirst || (lastAt !== undefined && lastAt > before) ? lastAt : before;
  await store.append(id, [datedEntry(importMark(planned, 'done'), newest)]);
}

/** By which the store finds the session. Copies of an agent have sessions with the same id. */
function sourceOf({ plan, identity }: PlannedSession): { readonly source?: SessionSource } {
  const { tool, sourceId, agentId } = identity;
  if (sourceId === undefined || sourceId.length > MAX_SOURCE_ID_CHARS || !sourceId.isWellFormed()) return {};
  const name = plan.conflict ? plan.id : sourceId;
  return { source: { tool, id: agentId === undefined ? name : `${agentId}/${name}` } };
}

const MAX_SOURCE_ID_CHARS = 400;

/** The list that is copied can lack entries of the list that was compared: those that act as settings. */
function storedPositions(
  entries: readonly Entry[],
  part: StoredPart | undefined,
): ReadonlyMap<number, string> {
  if (part === undefined) return new Map();
  const byId = new Map<string, string>();
  for (const [position, here] of part.stored) byId.set(part.entries[position]?.id ?? '', here);
  const stored = new Map<number, string>();
  for (const [position, { id }] of entries.entries()) {
    const here = byId.get(id);
    if (here !== undefined) stored.set(position, here);
  }
  return stored;
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
  const { hash, agentId, tool, sourceId } = identity;
  const { settingsNotApplied: left, loss: report } = plan;
  const optional = {
    ...(sourceId !== undefined && { sourceId }),
    ...(state === 'done' && { report }),
    ...(agentId !== undefined && { agentId }),
    ...(key !== undefined && { key }),
    ...(left.length > 0 && { settingsNotApplied: left }),
  };
  return { importedFrom: { tool, hash, state, at: new Date().toISOString(), ...optional } };
}

/** An entry with the time of the last message, so that the session does not become the most recent one. */
function datedEntry(settings: JsonObject, lastAt: string | undefined): NewEntry {
  return { ...settingsEntry(settings), ...(lastAt !== undefined && { copiedAt: lastAt }) };
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
