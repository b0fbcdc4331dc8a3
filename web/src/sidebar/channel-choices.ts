import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { attempt, client } from '../api/api.ts';
import { channelNames } from './sessions.ts';

const PAGE = 200;
const met = signal<ReadonlySet<string>>(new Set());

/** Channels that were met somewhere else than in the list. */
export function meetChannels(names: Iterable<string>): void {
  const fresh = [...names].filter((name) => !met.value.has(name));
  if (fresh.length > 0) met.value = new Set([...met.value, ...fresh]);
}

/** All channels one can ask for: those of the list, those something was said on, and those that were met. */
export function useChannelChoices(): readonly string[] {
  useEffect(() => {
    void attempt(async () => {
      const { data } = await client.value.conversations({ limit: PAGE });
      meetChannels(data.map(({ channelType }) => channelType));
    });
  }, []);
  return [...new Set([...channelNames.value, ...met.value])].sort();
}
