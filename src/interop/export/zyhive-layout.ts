import type { SessionDocument } from '../session-document.ts';
import { formatZyhiveSender, routeOfZyhive, zyhiveChannelId, zyhiveIdOfKey } from '../zyhive-names.ts';
import { safeName } from './file-writer.ts';
import { jsonFile, jsonLines, type Layout } from './layout.ts';
import { leftOutOf } from './left-out.ts';
import { type SeedHistory, seedHistory } from './seed-messages.ts';

/** Writes per agent an index of all sessions, their logs, and the channel logs. */
export const writeZyhive: Layout = async ({ documents, convlogs, out, leftOut }) => {
  const byAgent = new Map<string, [string, unknown][]>();
  for await (const document of documents) {
    const { agentId, title, messageCount, createdAt, lastAt, tokenEstimate } = document;
    const index = byAgent.get(agentId) ?? [];
    byAgent.set(agentId, index);
    const id = nameOf(document);
    const filePath = `${id}.jsonl`;
    const history = seedHistory(document.entries);
    await out.write(['agents', agentId, 'sessions', filePath], jsonLines(zyhiveLines(document, history)));
    const { covered, summary, kept, after } = history;
    const messages = [...covered, ...kept, ...after].map(({ message }) => message);
    leftOut.addSession(
      document.id,
      leftOutOf(document, { messages, hasSummary: summary !== undefined && summary.text.trim() !== '' }),
    );
    const times = { createdAt: Date.parse(createdAt), lastAt: Date.parse(lastAt) };
    index.push([id, { id, agentId, filePath, title, messageCount, ...times, tokenEstimate }]);
  }
  for (const [agentId, index] of byAgent)
    await out.write(
      ['agents', agentId, 'sessions', 'sessions.json'],
      jsonFile({ sessions: Object.fromEntries(index) }),
    );
  for await (const lines of convlogs) {
    const [first] = lines;
    if (first === undefined) continue;
    const { agentId, channelType, channelId } = first;
    const name = `${safeName(channelType)}-${safeName(channelId)}.jsonl`;
    const records = lines.map(({ ts, role, content, sender }) => ({
      ts,
      role,
      content,
      channelId: zyhiveChannelId(channelType, channelId),
      channelType,
      ...(sender !== undefined && { sender: formatZyhiveSender(sender) }),
    }));
    await out.write(['agents', agentId, 'convlogs', name], jsonLines(records));
  }
};

/**
 * The session that continues a Telegram chat must have the name of the chat, because ZyHive finds it by name. No other
 * session may use such a name.
 */
function nameOf({ id, key, active }: SessionDocument): string {
  const ofChat = zyhiveIdOfKey(key);
  if (active && ofChat !== undefined) return ofChat;
  return routeOfZyhive(id, undefined) === undefined ? id : `${id}-inactive`;
}

/** `id` and `key` in the header are extra fields: ZyHive knows a session by its id alone. */
function zyhiveLines(
  { id, agentId, key, createdAt }: SessionDocument,
  { covered, summary, kept, after }: SeedHistory,
): unknown[] {
  const line = ({ message, at }: (typeof after)[number]): unknown => ({
    type: 'message',
    message,
    timestamp: Date.parse(at),
  });
  const header = { type: 'session', version: 3, agentId, createdAt: Date.parse(createdAt), id, key };
  if (summary === undefined) return [header, ...[...covered, ...kept, ...after].map(line)];
  // Kept messages must precede the compaction. If none are kept, the compaction follows the next message instead, which
  // has the same effect: the model receives the summary, then that message.
  const split = kept.length === 0 ? after.slice(0, 1) : kept;
  const rest = kept.length === 0 ? after.slice(1) : after;
  const compaction = {
    type: 'compaction',
    summary: summary.text,
    firstKeptEntryId: `msg-${covered.length + 1}`,
    tokensBefore: summary.tokensBefore,
    tokensAfter: summary.tokensAfter,
    timestamp: Date.parse(summary.at),
  };
  return [header, ...covered.map(line), ...split.map(line), compaction, ...rest.map(line)];
}
