import type { InboxItem, Settlement } from '../port/inbox.ts';
import type { AppendReceipt } from '../port/store.ts';
import type { BegunTurn, ChangedRows, SeenRow, TurnPlan } from '../port/turns.ts';

/* What the beginning and the end of a turn mean in every store. */

/** Whether the open rows are those that the caller saw: the same ones, in the same states and order. */
export function areSeen(rows: readonly SeenRow[], seen: readonly SeenRow[]): boolean {
  return (
    rows.length === seen.length &&
    rows.every(({ inboxId, state }, i) => inboxId === seen[i]?.inboxId && state === seen[i]?.state)
  );
}

/** Commands run beside the queue, so no turn depends on them. */
export function turnRows(rows: readonly InboxItem[]): InboxItem[] {
  return rows.filter((item) => item.class !== 'command');
}

/** Whether this plan was carried out before: its answer was lost. */
export function hasBegun(
  plan: TurnPlan,
  lead: { readonly turnId: string | null; readonly state: string },
): boolean {
  return lead.state === 'running' && lead.turnId === plan.turnId;
}

/** How a message ends that is answered with another one. */
export function mergedInto(inboxId: string, lead: string): Settlement {
  return { inboxId, state: 'merged', detail: { mergedInto: lead } };
}

/** The answer without the lease, which only the main thread has. */
export type TurnStart = Omit<BegunTurn, 'lease'>;

export function isChanged(answer: TurnStart | ChangedRows): answer is ChangedRows {
  return 'openRows' in answer;
}

/** What an append that ends a turn answers in addition. */
export interface EndFacts {
  readonly rows: readonly Settlement[];
  readonly released: boolean;
}

export function settledAs({ inboxId, state, detail }: InboxItem): Settlement {
  return { inboxId, state, ...(detail !== undefined && { detail }) };
}

export type EndReceipt = AppendReceipt & EndFacts;
