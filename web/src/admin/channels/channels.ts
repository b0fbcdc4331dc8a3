import { computed, effect, type ReadonlySignal, signal, untracked } from '@preact/signals';
import type { Conversation as Channel } from 'reprise/client';
import { attempt, client, isAbort } from '../../api/api.ts';
import { agents, looked } from '../../sidebar/sessions.ts';

/** Filter of the channel list, and text to search for. */
export interface ChannelFilter {
  readonly agentId: string;
  readonly channelType: string;
  readonly member: string;
  readonly q: string;
  readonly sort: 'time' | 'messages';
}

const NO_FILTER: ChannelFilter = { agentId: '', channelType: '', member: '', q: '', sort: 'time' };
export const channelFilter = signal<ChannelFilter>(NO_FILTER);

const list = signal<readonly Channel[] | undefined>(undefined);
const cursor = signal<string | null>(null);
/** Undefined until the server has answered. */
export const channels: ReadonlySignal<readonly Channel[] | undefined> = list;
export const channelCursor: ReadonlySignal<string | null> = cursor;

/**
 * Agents of the server, plus agents that only have channel logs: an import can add logs of agents that are not
 * configured.
 */
export const channelAgents: ReadonlySignal<readonly string[]> = computed(() => {
  const { agentId } = channelFilter.value;
  const ofLogs = list.value?.map((channel) => channel.agentId) ?? [];
  const ids = new Set([...agents.value.map(({ id }) => id), ...ofLogs, agentId]);
  return [...ids].filter((id) => id !== '').sort();
});

const TYPING_MS = 150;
const PAGE = 100;

function query(): {
  limit: number;
  agentId?: string;
  channelType?: string;
  member?: string;
  q?: string;
  sort: 'time' | 'messages';
} {
  const { agentId, channelType, member, q, sort } = channelFilter.value;
  return {
    limit: PAGE,
    sort,
    ...(agentId !== '' && { agentId }),
    ...(channelType !== '' && { channelType }),
    ...(member !== '' && { member }),
    ...(q !== '' && { q }),
  };
}

export function clearChannelFilter(): void {
  channelFilter.value = { ...NO_FILTER, sort: channelFilter.value.sort };
}

/**
 * Updates the list when the filter or the server's data changes. @returns a function that ends this.
 */
export function keepChannels(): () => void {
  const stopNews = effect(() => {
    if (looked.value > 0) void untracked(() => attempt(renew));
  });
  const stopFilter = effect(() => {
    const wanted = query();
    const stop = new AbortController();
    const timer = setTimeout(() => {
      void attempt(async () => {
        try {
          const page = await client.value.conversations(wanted, { signal: stop.signal });
          list.value = page.data;
          cursor.value = page.cursor;
        } catch (error) {
          if (!isAbort(error)) throw error;
        }
      });
    }, TYPING_MS);
    return () => {
      clearTimeout(timer);
      stop.abort(new DOMException('asked for something else', 'AbortError'));
    };
  });
  return () => {
    stopNews();
    stopFilter();
  };
}

/** Refreshes the first page. Not for searches, which are expensive, and not if more pages are loaded. */
async function renew(): Promise<void> {
  const [shown, filter] = [list.value, channelFilter.value];
  if (shown === undefined || shown.length > PAGE || filter.q + filter.member !== '') return;
  const page = await client.value.conversations(query());
  if (list.value !== shown || channelFilter.value !== filter) return;
  list.value = page.data;
  cursor.value = page.cursor;
}

export async function moreChannels(): Promise<void> {
  const from = cursor.value;
  if (from === null) return;
  await attempt(async () => {
    const page = await client.value.conversations({ ...query(), cursor: from });
    // The filter has changed meanwhile, or a second call has loaded this page.
    if (cursor.value !== from) return;
    list.value = [...(list.value ?? []), ...page.data];
    cursor.value = page.cursor;
  });
}
