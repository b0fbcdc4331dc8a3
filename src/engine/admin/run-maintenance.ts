import { RepriseError } from '../../errors.ts';
import type { SessionRecord, Store } from '../../store/port/store.ts';
import { writeAudit } from './audit.ts';
import { type MaintenanceItem, type MaintenancePlan, planMaintenance } from './maintenance.ts';
import type { MaintenanceRules } from './maintenance-rules.ts';

export interface MaintenanceOptions {
  /** Only report what would be deleted. */
  readonly dryRun?: boolean;
  readonly now?: () => Date;
  readonly limit?: number;
  /** Stops between two sessions; the next run continues. */
  readonly signal?: AbortSignal;
}

/** Number of sessions per purge; one rewrite of the database removes the text of all of them. */
const PURGED_AT_ONCE = 32;

export interface MaintenanceReport {
  readonly plan: MaintenancePlan;
  readonly deleted: number;
  readonly purged: number;
  readonly archived: number;
  /** Sessions that changed since they were planned, so they stay. */
  readonly spared: number;
  readonly failed: readonly { readonly sessionId: string; readonly code: string }[];
}

/**
 * Carries out a plan, the oldest sessions first and one by one; after an interruption the next run continues. A line
 * is written before anything is removed (`writeAudit`); if that fails, nothing is removed.
 */
export async function runMaintenance(
  store: Store,
  rules: MaintenanceRules,
  { dryRun = false, now = () => new Date(), limit, signal }: MaintenanceOptions = {},
): Promise<MaintenanceReport> {
  const plan = await planMaintenance(store, rules, now(), limit === undefined ? {} : { limit });
  const counts = { deleted: 0, purged: 0, archived: 0, spared: 0 };
  const failed: { sessionId: string; code: string }[] = [];
  const each = async (
    items: readonly MaintenanceItem[],
    count: 'deleted' | 'purged' | 'archived',
    work: (item: MaintenanceItem, record: SessionRecord) => Promise<unknown>,
  ): Promise<void> => {
    const one = async (item: MaintenanceItem): Promise<void> => {
      try {
        const record = await asPlanned(store, item, count === 'purged' ? 'deleted' : 'open');
        if (record !== undefined) await work(item, record);
        counts[record === undefined ? 'spared' : count]++;
      } catch (error) {
        if (!(error instanceof RepriseError)) throw error;
        failed.push({ sessionId: item.sessionId, code: error.code });
      }
    };
    const atOnce = count === 'purged' ? PURGED_AT_ONCE : 1;
    for (let i = 0; i < items.length; i += atOnce) {
      if (signal?.aborted === true) return;
      await Promise.all(items.slice(i, i + atOnce).map(one));
    }
  };
  if (!dryRun) {
    await each(plan.purge, 'purged', async ({ reason, bytes }, record) => {
      await writeAudit(store, 'purge', record, { reason, bytes });
      // Retention applies to sessions only: their messages in the channel log stay (I-34).
      await store.purge(record.id, { keepChannelLog: true });
    });
    await each(plan.delete, 'deleted', async ({ reason, bytes }, record) => {
      await writeAudit(store, 'delete', record, { reason, bytes });
      await store.delete(record.id);
    });
    await each(plan.archive, 'archived', async ({ since, lastSeq }, { id }) =>
      store.patch(id, { archived: true, idleSince: { at: since, seq: lastSeq + 1 } }),
    );
  }
  return { plan, ...counts, failed };
}

/**
 * Checks a session against the plan. @returns `undefined` if it changed since. A message that is accepted between
 * this check and the delete is cancelled, and its sender receives an event that says so; no store can check and
 * delete in one step.
 */
async function asPlanned(
  store: Store,
  { sessionId, lastSeq }: MaintenanceItem,
  status: SessionRecord['status'],
): Promise<SessionRecord | undefined> {
  const record = await store.get(sessionId);
  if (record.status !== status || record.lastSeq !== lastSeq) return undefined;
  if (status === 'deleted') return record;
  const [pending, leases] = await Promise.all([store.inbox.pending(sessionId), store.leases()]);
  const isHeld = leases.some((lease) => lease.alive && lease.sessionId === sessionId);
  return pending.length > 0 || isHeld ? undefined : record;
}
