import type { SessionView } from 'reprise/client';
import { client } from './api.ts';
import type { Facets } from './sessions.ts';

/** Of so many channels so many lines of the member are looked at, the newest. */
const CHANNELS = 50;
const LINES = 200;

/** The sessions in which a member of a channel spoke, by what was said on the channels: keys do not tell who is in a group. */
export async function sessionsOfMember({ member, agentId, channel, status }: Facets): Promise<SessionView[]> {
  const asked = { member, limit: CHANNELS, ...(channel !== '' && { channelType: channel }) };
  const { data: channels } = await client.value.conversations(asked);
  const ours = channels.filter((one) => agentId === '' || one.agentId === agentId);
  const found = await Promise.all(
    ours.map(async ({ agentId: agent, channelId, channelType }) => {
      const { data } = await client.value.conversation(agent, channelId, {
        limit: LINES,
        channelType,
        member,
      });
      const ids = data.flatMap(({ sessionId }) => sessionId ?? []);
      return [...new Set(ids)].map((id) => client.value.session(id, { agentId: agent }).get());
    }),
  );
  const sessions = await Promise.allSettled(found.flat());
  return sessions
    .flatMap((one) => (one.status === 'fulfilled' ? [one.value.session] : [])) // the others were purged
    .filter((session) => status === 'any' || session.status === status)
    .sort((a, b) => (a.lastAt < b.lastAt ? 1 : -1));
}
