import { computed, effect, type ReadonlySignal, signal } from '@preact/signals';
import type { SessionView } from 'reprise/client';
import { attempt, client, isAbort } from '../../api/api.ts';
import { facets, hasMoreSessions, isShown, listQuery, loadMore, sessions } from '../../sidebar/sessions.ts';

export type SessionSort = 'time' | 'messages' | 'tokens';

interface Sorted {
  readonly sort: SessionSort;
  /** The request as text, to recognize an outdated answer. */
  readonly query: string;
  readonly rows: readonly SessionView[];
  readonly cursor: string | null;
}

export const sessionSort = signal<SessionSort>('time');

const TYPING_MS = 150;
const MOST_AT_ONCE = 1000;
const found = signal<Sorted | undefined>(undefined);
/** The sessions of a member are all loaded and sorted here, because the server cannot list them. */
const isSortedHere = computed(() => facets.value.member !== '');
/** The loaded sessions in the chosen order. The sidebar's list is already sorted by time. */
const current = computed(() =>
  !isSortedHere.value && found.value?.sort === sessionSort.value ? found.value : undefined,
);

export const sortedSessions: ReadonlySignal<readonly SessionView[]> = computed(() => {
  if (current.value !== undefined) return current.value.rows.filter(isShown);
  const sort = sessionSort.value;
  if (!isSortedHere.value || sort === 'time') return sessions.value;
  const countOf = ({ messageCount, tokenEstimate }: SessionView): number =>
    sort === 'messages' ? messageCount : tokenEstimate;
  return [...sessions.value].sort((a, b) => countOf(b) - countOf(a));
});
export const hasMoreSorted: ReadonlySignal<boolean> = computed(() =>
  current.value === undefined ? hasMoreSessions.value : current.value.cursor !== null,
);
/** Changes whenever a session in the sidebar changes, because the order may have changed too. */
const news = computed(() => sessions.value.map(({ id, lastSeq }) => `${id} ${lastSeq}`).join());

/**
 * Loads again when the order, the filters or the sidebar's list change. @returns a function that ends this.
 */
export function keepSorted(): () => void {
  return effect(() => {
    const sort = sessionSort.value;
    const query = listQuery();
    if (sort === 'time' || isSortedHere.value) return undefined;
    const stop = new AbortController();
    let [isLoading, isDue] = [false, false];
    const renew = async (): Promise<void> => {
      isDue = true;
      if (isLoading) return;
      isLoading = true;
      while (isDue && !stop.signal.aborted) {
        isDue = false;
        await attempt(() => load(sort, query, stop.signal));
      }
      isLoading = false;
    };
    const timer = setTimeout(() => void renew(), TYPING_MS);
    let isFirst = true;
    // A refresh does not cancel a running request, so an answer slower than the refresh interval still arrives.
    const stopNews = effect(() => {
      void news.value;
      if (!isFirst) void renew();
      isFirst = false;
    });
    return () => {
      clearTimeout(timer);
      stopNews();
      stop.abort(new DOMException('asked for something else', 'AbortError'));
    };
  });
}

/** Loads as many rows as are shown, so that the scroll position stays valid. */
async function load(
  sort: SessionSort,
  query: ReturnType<typeof listQuery>,
  signal: AbortSignal,
): Promise<void> {
  const asked = JSON.stringify(query);
  const known = (): Sorted | undefined => {
    const now = found.peek();
    return now?.sort === sort && now.query === asked ? now : undefined;
  };
  const limit = Math.min(MOST_AT_ONCE, Math.max(query.limit ?? 0, known()?.rows.length ?? 0));
  try {
    const page = await client.peek().sessions({ ...query, limit, sort }, { signal });
    // Rows beyond this page stay after it.
    const ids = new Set(page.data.map(({ id }) => id));
    const before = known();
    const rest = before?.rows.slice(page.data.length).filter(({ id }) => !ids.has(id)) ?? [];
    const isLonger = before !== undefined && page.cursor !== null && rest.length > 0;
    found.value = {
      sort,
      query: asked,
      rows: isLonger ? [...page.data, ...rest] : page.data,
      cursor: isLonger ? before.cursor : page.cursor,
    };
  } catch (error) {
    if (!isAbort(error)) throw error;
  }
}

export async function moreSorted(): Promise<void> {
  const before = current.value;
  if (before === undefined) return loadMore();
  const { sort, query, cursor } = before;
  if (cursor === null) return;
  await attempt(async () => {
    const page = await client.value.sessions({ ...listQuery(), sort, cursor });
    const now = found.value;
    // The order or the filters have changed meanwhile.
    if (now === undefined || now.sort !== sort || now.query !== query) return;
    // A second call may have loaded the same page.
    const ids = new Set(now.rows.map(({ id }) => id));
    const rows = [...now.rows, ...page.data.filter(({ id }) => !ids.has(id))];
    found.value = { sort, query, rows, cursor: page.cursor };
  });
}
