import type { SessionView } from 'reprise/client';
import { client } from '../api/api.ts';
import type { Facets } from './sessions.ts';

/** Only the newest channels of the member, and the newest lines of each, are read. */
const CHANNELS = 50;
const LINES = 200;

const KIND =
  /^agent:[^:]+:(?:(session|subagent|cron|hook|acp|direct):|(?:[^:]+:){1,2}?(direct|group|channel):)/;

interface MemberSessions {
  readonly data: readonly SessionView[];
  /** There are more channels or lines than were read. */
  readonly isPart: boolean;
}

/**
 * The sessions in which a channel member wrote. Found through the channel logs, because session keys do not name the
 * members of a group.
 */
export async function sessionsOfMember(facets: Facets): Promise<MemberSessions> {
  const { member, agentId, channel, kind, status } = facets;
  const asked = { member, limit: CHANNELS, ...(channel !== '' && { channelType: channel }) };
  const { data: channels, hasMore } = await client.value.conversations(asked);
  const ours = channels.filter((one) => agentId === '' || one.agentId === agentId);
  let isPart = hasMore;
  const found = await Promise.all(
    ours.map(async ({ agentId: agent, channelId, channelType }) => {
      const page = await client.value.conversation(agent, channelId, { limit: LINES, channelType, member });
      isPart ||= page.hasMore;
      const ids = page.data.flatMap(({ sessionId }) => sessionId ?? []);
      return [...new Set(ids)].map((id) => client.value.session(id, { agentId: agent }).get());
    }),
  );
  const sessions = await Promise.allSettled(found.flat());
  const data = sessions
    .flatMap((one) => (one.status === 'fulfilled' ? [one.value.session] : [])) // purged sessions are left out
    .filter((session) => status === 'any' || session.status === status)
    .filter(({ sessionKey }) => kind === '' || kindOf(sessionKey) === kind)
    .sort((a, b) => (a.lastAt < b.lastAt ? 1 : -1));
  return { data, isPart };
}

function kindOf(sessionKey: string): string {
  const [, own, onChannel] = KIND.exec(sessionKey) ?? [];
  return own ?? onChannel ?? 'main';
}
