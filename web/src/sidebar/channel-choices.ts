import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { attempt, client } from '../api/api.ts';
import { channelNames } from './sessions.ts';

const PAGE = 200;
const met = signal<ReadonlySet<string>>(new Set());

/** Adds channels that appeared outside of the session list. */
export function meetChannels(names: Iterable<string>): void {
  const fresh = [...names].filter((name) => !met.value.has(name));
  if (fresh.length > 0) met.value = new Set([...met.value, ...fresh]);
}

/** All channels to choose from: those of the list, of the channel logs, and those that appeared elsewhere. */
export function useChannelChoices(): readonly string[] {
  useEffect(() => {
    void attempt(async () => {
      const { data } = await client.value.conversations({ limit: PAGE });
      meetChannels(data.map(({ channelType }) => channelType));
    });
  }, []);
  return [...new Set([...channelNames.value, ...met.value])].sort();
}
