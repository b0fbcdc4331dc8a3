import { RepriseError } from '../../errors.ts';
import type { SessionRecord, Store } from '../../store/port/store.ts';
import { writeAudit } from './audit.ts';
import { type MaintenanceItem, type MaintenancePlan, planMaintenance } from './maintenance.ts';
import type { MaintenanceRules } from './maintenance-rules.ts';

export interface MaintenanceOptions {
  /** Only says what would go. */
  readonly dryRun?: boolean;
  readonly now?: () => Date;
  readonly limit?: number;
  /** Stops between two sessions; what is left goes the next time. */
  readonly signal?: AbortSignal;
}

/** One rewrite of the database removes the text of all that are purged together. */
const PURGED_AT_ONCE = 32;

export interface MaintenanceReport {
  readonly plan: MaintenancePlan;
  readonly deleted: number;
  readonly purged: number;
  readonly archived: number;
  /** Somebody spoke there, took it up or took it out of the trash meanwhile: it stays. */
  readonly spared: number;
  readonly failed: readonly { readonly sessionId: string; readonly code: string }[];
}

/**
 * Does what `planMaintenance` says, the oldest first, each by itself: whatever interrupts it, the next run goes on from
 * what is there. Before anything is removed a line says so (`writeAudit`); what cannot be told is not done.
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
      // Retention applies to sessions only: the messages in the channel log stay (I-34).
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
 * @returns undefined if the session changed since it was planned. A message that is accepted between this check and the
 * delete is cancelled, and its sender receives an event that says so; no store can check and delete in one step.
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
