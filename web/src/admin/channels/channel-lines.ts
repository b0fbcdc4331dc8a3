import type { Conversation as Channel, Client } from 'reprise/client';

const PAGE = 1000;

/** All messages of a channel, across sessions, as one line of JSON each, oldest first. */
export async function channelLines(
  client: Client,
  { agentId, channelType, channelId }: Pick<Channel, 'agentId' | 'channelType' | 'channelId'>,
): Promise<string[]> {
  const lines: string[] = [];
  for (let after = 0, hasMore = true; hasMore; ) {
    const page = await client.conversation(agentId, channelId, { channelType, limit: PAGE, after });
    for (const line of page.data) lines.push(`${JSON.stringify(line)}\n`);
    after = page.data.at(-1)?.number ?? after;
    hasMore = page.hasMore;
  }
  return lines;
}
