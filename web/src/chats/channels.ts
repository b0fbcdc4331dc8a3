import { effect, type ReadonlySignal, signal } from '@preact/signals';
import type { Conversation as Channel } from 'reprise/client';
import { attempt, client, isAbort } from '../stores/api.ts';

/** What was said on the channels, and what is looked for in it. */
export interface ChannelFilter {
  readonly channelType: string;
  readonly member: string;
  readonly q: string;
  readonly sort: 'time' | 'messages';
}

const NO_FILTER: ChannelFilter = { channelType: '', member: '', q: '', sort: 'time' };
export const channelFilter = signal<ChannelFilter>(NO_FILTER);

const list = signal<readonly Channel[] | undefined>(undefined);
const cursor = signal<string | null>(null);
/** Undefined until the server has answered. */
export const channels: ReadonlySignal<readonly Channel[] | undefined> = list;
export const channelCursor: ReadonlySignal<string | null> = cursor;

const TYPING_MS = 150;
const PAGE = 100;

function query(): {
  limit: number;
  channelType?: string;
  member?: string;
  q?: string;
  sort: 'time' | 'messages';
} {
  const { channelType, member, q, sort } = channelFilter.value;
  return {
    limit: PAGE,
    sort,
    ...(channelType !== '' && { channelType }),
    ...(member !== '' && { member }),
    ...(q !== '' && { q }),
  };
}

export function clearChannelFilter(): void {
  channelFilter.value = { ...NO_FILTER, sort: channelFilter.value.sort };
}

/** Follows the filter; answers with its end. */
export function keepChannels(): () => void {
  return effect(() => {
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
}

export async function moreChannels(): Promise<void> {
  const from = cursor.value;
  if (from === null) return;
  await attempt(async () => {
    const page = await client.value.conversations({ ...query(), cursor: from });
    // Another question was asked meanwhile, or this one twice.
    if (cursor.value !== from) return;
    list.value = [...(list.value ?? []), ...page.data];
    cursor.value = page.cursor;
  });
}
