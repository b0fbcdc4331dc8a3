import { failure } from '../../messages/failure.ts';
import type { SessionRecord, Store } from '../../store/port/store.ts';
import { isObject } from '../../transcript/json.ts';
import { AUDIT_SESSION_ID } from './audit.ts';
import { type MaintenanceLimits, type MaintenanceRules, parseMaintenanceRules } from './maintenance-rules.ts';
import { measureSession } from './session-size.ts';

export type MaintenanceReason = 'ttl' | 'maxSessions' | 'maxBytes' | 'grace' | 'archiveAfter';

export interface MaintenanceItem {
  readonly sessionId: string;
  readonly sessionKey: string;
  readonly title: string;
  /** Time of the last message; for a session in the trash, the time of its deletion. */
  readonly since: string;
  readonly reason: MaintenanceReason;
  /** Size of its transcript and the files beside it; 0 if nothing would be removed. */
  readonly bytes: number;
  /** If the session has a later line when its turn comes, it is spared. */
  readonly lastSeq: number;
}

export interface MaintenancePlan {
  /** Sessions to move to the trash, oldest first. */
  readonly delete: readonly MaintenanceItem[];
  /** Sessions to purge from the trash. */
  readonly purge: readonly MaintenanceItem[];
  readonly archive: readonly MaintenanceItem[];
  /** Number of sessions that no rule touches yet, because they were imported less than `IMPORT_GRACE_DAYS` ago. */
  readonly recentImports: number;
  /** Bytes that purging frees now, and bytes that it will free when the rest has been in the trash long enough. */
  readonly bytes: number;
  readonly bytesLater: number;
  /** True if the plan is incomplete because its size is limited; plan again after running it. */
  readonly more: boolean;
}

export interface PlanOptions {
  /** Limit of each list in a plan; it also limits memory use. */
  readonly limit?: number;
}

const DEFAULT_LIMIT = 10_000;
/**
 * An imported session is as old as its last message. Without this limit an automatic rule would remove an old history
 * on the day of its import, before its owner has seen it.
 */
export const IMPORT_GRACE_DAYS = 30;
const DAY_MS = 86_400_000;
const PAGE = 500;

/** Plans what the rules would delete and how many bytes that frees. Changes nothing. */
export async function planMaintenance(
  store: Store,
  rules: MaintenanceRules,
  now: Date,
  { limit = DEFAULT_LIMIT }: PlanOptions = {},
): Promise<MaintenancePlan> {
  const limits = parseMaintenanceRules(rules);
  const nothing = {
    delete: [],
    purge: [],
    archive: [],
    recentImports: 0,
    bytes: 0,
    bytesLater: 0,
    more: false,
  };
  if (Object.values(limits).every((each) => each === Number.POSITIVE_INFINITY)) return nothing;
  const { bytes: total, rebuilding } = await store.stats();
  if (rebuilding !== undefined)
    throw failure('STORE_BUSY', 'prune.indexing', {}, { details: { ...rebuilding } });
  // The active session of a key is in use by its sender, so only the two rules about idle time apply to it.
  const isDue = (record: SessionRecord): boolean =>
    !record.active ||
    isIdle(record, limits.ttl, now) ||
    (!isArchived(record) && isIdle(record, limits.archiveAfter, now));
  const open = await survey(store, { status: 'open', limit, busy: await busySessions(store), isDue, now });
  const trash = await survey(store, { status: 'deleted', limit, busy: new Set(), isDue, now });
  const goes = await chooseDeletions(store, limits, { open, trash, total, now });
  const isGoing = new Set(goes.map(({ sessionId }) => sessionId));
  const archive = open.inTheWay
    .filter((record) => !isGoing.has(record.id) && isIdle(record, limits.archiveAfter, now))
    .map((record) => itemOf(record, 'archiveAfter', 0));
  const overdue = trash.oldest.filter((record) => now.getTime() - Date.parse(record.lastAt) > limits.grace);
  const purge: MaintenanceItem[] = [];
  for (const record of overdue) purge.push(itemOf(record, 'grace', await bytesOf(store, record.id)));
  return {
    delete: goes,
    purge,
    archive,
    recentImports: open.recentImports,
    bytes: sumOf(purge),
    bytesLater: sumOf(goes),
    more: [goes, purge, archive].some(({ length }) => length === limit),
  };
}

/** Sessions with an open message or a live lease. */
async function busySessions(store: Store): Promise<Set<string>> {
  const [pending, leases] = await Promise.all([store.inbox.pending(), store.leases()]);
  const held = leases.filter(({ alive }) => alive);
  return new Set([...pending, ...held].map(({ sessionId }) => sessionId));
}

interface Survey {
  readonly count: number;
  /** Sessions that may be touched, the oldest first. */
  readonly oldest: readonly SessionRecord[];
  /** Those of them that are not archived. */
  readonly inTheWay: readonly SessionRecord[];
  readonly recentImports: number;
  /** Whether the list is incomplete. */
  readonly isCut: boolean;
  readonly hasAudit: boolean;
}

/** Lists are sorted newest first, so the oldest sessions are the last ones. */
async function survey(
  store: Store,
  {
    status,
    limit,
    busy,
    isDue,
    now,
  }: {
    readonly status: 'open' | 'deleted';
    readonly limit: number;
    readonly busy: ReadonlySet<string>;
    readonly isDue: (record: SessionRecord) => boolean;
    readonly now: Date;
  },
): Promise<Survey> {
  let oldest: SessionRecord[] = [];
  let inTheWay: SessionRecord[] = [];
  let count = 0;
  let recentImports = 0;
  let isCut = false;
  let hasAudit = false;
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await store.list({ status, limit: PAGE, ...(cursor !== undefined && { cursor }) });
    for (const record of page.sessions) {
      if (record.id === AUDIT_SESSION_ID) {
        hasAudit = true;
        continue;
      }
      count++;
      // A damaged session needs a person: it may be repairable and must not be deleted automatically.
      if (busy.has(record.id) || record.corruptAt !== undefined || !isDue(record)) continue;
      if (status === 'open' && isRecentImport(record, now)) {
        recentImports++;
        continue;
      }
      oldest.push(record);
      if (!isArchived(record)) inTheWay.push(record);
    }
    isCut ||= oldest.length > limit;
    oldest = oldest.slice(-limit);
    inTheWay = inTheWay.slice(-limit);
    cursor = page.cursor;
  }
  const byAge = (a: SessionRecord, b: SessionRecord): number =>
    idleSince(a).getTime() - idleSince(b).getTime();
  return {
    count,
    oldest: oldest.sort(byAge),
    inTheWay: inTheWay.sort(byAge),
    recentImports,
    isCut,
    hasAudit,
  };
}

async function chooseDeletions(
  store: Store,
  limits: MaintenanceLimits,
  {
    open,
    trash,
    total,
    now,
  }: { readonly open: Survey; readonly trash: Survey; readonly total: number; readonly now: Date },
): Promise<MaintenanceItem[]> {
  const { ttl, maxSessions, maxBytes } = limits;
  const items: MaintenanceItem[] = [];
  let count = open.count;
  let bytes = total;
  // Sessions in the trash are about to be removed and must not count against the others, nor must our audit session.
  // If the size of the trash is not known completely, nothing is deleted because of size.
  if (bytes > maxBytes && trash.isCut) bytes = 0;
  if (bytes > maxBytes) {
    const aside = [...trash.oldest.map(({ id }) => id), ...(open.hasAudit ? [AUDIT_SESSION_ID] : [])];
    for (const id of aside) bytes -= (await measureSession(store, id)).transcript;
  }
  const reasonFor = (record: SessionRecord): MaintenanceReason | undefined => {
    if (isIdle(record, ttl, now)) return 'ttl';
    if (record.active) return undefined;
    if (count > maxSessions) return 'maxSessions';
    return bytes > maxBytes ? 'maxBytes' : undefined;
  };
  for (const record of open.oldest) {
    const reason = reasonFor(record);
    if (reason === undefined) {
      if (record.active) continue;
      break;
    }
    const { transcript, blobs } = await measureSession(store, record.id);
    items.push(itemOf(record, reason, transcript + blobs));
    count--;
    bytes -= transcript;
  }
  return items;
}

/** The time of the last activity. Archiving writes a line that does not count as activity. */
function idleSince(record: SessionRecord): Date {
  return new Date(idleMark(record) ?? record.lastAt);
}

/** Since when a session was idle when `archiveAfter` archived it; `undefined` after any later line. */
function idleMark({ lastSeq, settings: { idleSince: mark } }: SessionRecord): string | undefined {
  return isObject(mark) && mark['seq'] === lastSeq && typeof mark['at'] === 'string' ? mark['at'] : undefined;
}

function isArchived({ settings }: SessionRecord): boolean {
  return settings['archived'] === true;
}

/** Whether `archiveAfter` archived a session and nothing was written to it since. */
export function isRetired(record: SessionRecord): boolean {
  return isArchived(record) && idleMark(record) !== undefined;
}

function isRecentImport({ settings: { importedFrom } }: SessionRecord, now: Date): boolean {
  const at = isObject(importedFrom) ? Date.parse(String(importedFrom['at'])) : Number.NaN;
  return now.getTime() - at < IMPORT_GRACE_DAYS * DAY_MS;
}

function isIdle(record: SessionRecord, ms: number, now: Date): boolean {
  return now.getTime() - idleSince(record).getTime() > ms;
}

function itemOf(record: SessionRecord, reason: MaintenanceReason, bytes: number): MaintenanceItem {
  const { id, sessionKey, title, lastSeq } = record;
  return { sessionId: id, sessionKey, title, since: idleSince(record).toISOString(), reason, bytes, lastSeq };
}

async function bytesOf(store: Store, id: string): Promise<number> {
  const { transcript, blobs } = await measureSession(store, id);
  return transcript + blobs;
}

function sumOf(items: readonly MaintenanceItem[]): number {
  return items.reduce((sum, { bytes }) => sum + bytes, 0);
}
