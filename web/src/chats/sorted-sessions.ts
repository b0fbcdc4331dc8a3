import { computed, effect, type ReadonlySignal, signal } from '@preact/signals';
import type { SessionView } from 'reprise/client';
import { attempt, client, isAbort } from '../stores/api.ts';
import { hasMoreSessions, isShown, listQuery, loadMore, sessions } from '../stores/sessions.ts';

export type SessionSort = 'time' | 'messages' | 'tokens';

interface Sorted {
  readonly sort: SessionSort;
  readonly rows: readonly SessionView[];
  readonly cursor: string | null;
}

export const sessionSort = signal<SessionSort>('time');

const TYPING_MS = 150;
const MOST_AT_ONCE = 1000;
const found = signal<Sorted | undefined>(undefined);
/** Of the order that is asked for; the list at the left is in the order of time already. */
const current = computed(() => (found.value?.sort === sessionSort.value ? found.value : undefined));

export const sortedSessions: ReadonlySignal<readonly SessionView[]> = computed(() =>
  current.value === undefined ? sessions.value : current.value.rows.filter(isShown),
);
export const hasMoreSorted: ReadonlySignal<boolean> = computed(() =>
  current.value === undefined ? hasMoreSessions.value : current.value.cursor !== null,
);

/** Follows the order, the filters and what happens in the list at the left; answers with its end. */
export function keepSorted(): () => void {
  return effect(() => {
    const sort = sessionSort.value;
    const query = listQuery();
    // Whatever changes there may have changed this order.
    void sessions.value;
    if (sort === 'time') return undefined;
    const stop = new AbortController();
    const timer = setTimeout(() => void attempt(() => load(sort, query, stop.signal)), TYPING_MS);
    return () => {
      clearTimeout(timer);
      stop.abort(new DOMException('asked for something else', 'AbortError'));
    };
  });
}

/** As much as is shown already: whoever went down the table stays there. */
async function load(
  sort: SessionSort,
  query: ReturnType<typeof listQuery>,
  signal: AbortSignal,
): Promise<void> {
  const shown = current.peek()?.rows.length ?? 0;
  if (shown > MOST_AT_ONCE) return;
  const limit = Math.max(query.limit ?? 0, shown);
  try {
    const page = await client.peek().sessions({ ...query, limit, sort }, { signal });
    found.value = { sort, rows: page.data, cursor: page.cursor };
  } catch (error) {
    if (!isAbort(error)) throw error;
  }
}

export async function moreSorted(): Promise<void> {
  const before = current.value;
  if (before === undefined) return loadMore();
  const { sort, rows, cursor } = before;
  if (cursor === null) return;
  await attempt(async () => {
    const page = await client.value.sessions({ ...listQuery(), sort, cursor });
    // Another order was asked for meanwhile, or this page twice.
    if (found.value !== before) return;
    const ids = new Set(rows.map(({ id }) => id));
    found.value = {
      sort,
      rows: [...rows, ...page.data.filter(({ id }) => !ids.has(id))],
      cursor: page.cursor,
    };
  });
}
