import { type BrokenStore, broken } from './broken-store.ts';

const BEGINS = 'a turn begins with its lease, its messages and their words in one step';
const CHANGED = 'a turn is not begun if the open messages are not those it was chosen from';
const REFUSED = 'a refused beginning leaves no lease, no running message and no words';
const AGAIN = 'a beginning whose answer was lost is asked for again and is the same';
const DIED = 'a message whose runner died begins again, and counts another attempt';
const ENDS = 'a turn ends with its answer, its row and its lease in one step';
const KEEPS = 'the end of a turn keeps the lease while a message waits, and the end that a row already has';

/** Mistakes with the beginning and the end of turns. */
export const brokenTurns: readonly BrokenStore[] = [
  broken('begins a turn without the words of its messages', BEGINS, (_store, right) => ({
    begin: (session, plan) => right.begin(session, { ...plan, inputs: [] }),
  })),
  broken('leaves messages that were answered with another one open', BEGINS, (store, right) => ({
    begin: (session, plan) => {
      const joined = plan.inputs.flatMap(({ inboxId }) => store.data.items.get(inboxId) ?? []);
      const answer = right.begin(session, plan);
      for (const item of joined) if (item.inboxId !== plan.lead) store.data.items.set(item.inboxId, item);
      return answer;
    },
  })),
  broken('begins a turn from rows that have changed', CHANGED, () => ({ isAsSeen: () => true })),
  broken('compares the messages and not their states', CHANGED, (_store, right) => ({
    isAsSeen: (rows, plan) =>
      right.isAsSeen(
        rows,
        rows.length === plan.openRows.length &&
          rows.every((row, i) => row.inboxId === plan.openRows[i]?.inboxId)
          ? { ...plan, openRows: rows }
          : plan,
      ),
  })),
  broken('ignores the order of the open messages', CHANGED, (_store, right) => ({
    isAsSeen: (rows, plan) => {
      const place = ({ inboxId }: { readonly inboxId: string }): number =>
        rows.findIndex((row) => row.inboxId === inboxId);
      return right.isAsSeen(rows, {
        ...plan,
        openRows: plan.openRows.toSorted((a, b) => place(a) - place(b)),
      });
    },
  })),
  broken('keeps the lease of a beginning that was refused', REFUSED, (store, right) => ({
    begin: (session, plan) => {
      const lease = session.holder === undefined && !('epoch' in plan.lease);
      try {
        return right.begin(session, plan);
      } catch (error) {
        if (lease) session.holder = { store, lost: new AbortController() };
        throw error;
      }
    },
  })),
  broken('takes any epoch for its own', REFUSED, (_store, right) => ({
    begin: (session, plan) => right.begin(session, 'epoch' in plan.lease ? { ...plan, lease: {} } : plan),
  })),
  broken('knows no turn that it has begun', AGAIN, (store, right) => ({
    begin: (session, plan) => {
      store.data.turns.clear();
      return right.begin(session, plan);
    },
  })),
  broken('counts no attempt', DIED, (store, right) => ({
    runLead: (plan) => {
      const { attempts = 0 } = store.data.items.get(plan.lead) ?? {};
      right.runLead(plan);
      const item = store.data.items.get(plan.lead);
      if (item !== undefined && attempts > 0) store.data.items.set(plan.lead, { ...item, attempts });
    },
  })),
  broken('keeps the lease of a turn that has ended', ENDS, () => ({ giveBack: () => undefined })),
  broken('ends a turn and not its row', ENDS, (_store, right) => ({
    end: (session, epoch, entries, { settle: _settle, ...options }) =>
      right.end(session, epoch, entries, options),
  })),
  broken('releases the lease although a message waits', KEEPS, (_store, right) => ({
    end: (session, epoch, entries, options) => {
      const end = right.end(session, epoch, entries, options);
      if (options.release) right.giveBack(session);
      return { ...end, released: options.release };
    },
  })),
  broken('answers with the end it was asked for', KEEPS, (_store, right) => ({
    end: (session, epoch, entries, options) => {
      const end = right.end(session, epoch, entries, options);
      return { ...end, rows: options.settle ?? [] };
    },
  })),
];
