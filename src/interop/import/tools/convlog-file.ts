import { basename } from 'node:path';
import type { ConvlogLine, ConvlogRole, ConvlogSender } from '../../../store/port/convlog.ts';
import { isoTime } from '../../../transcript/dialects/time.ts';
import { isObject, type JsonObject } from '../../../transcript/json.ts';
import { DEFAULT_RECORD_LIMITS } from '../../../transcript/limits.ts';
import { decodeLine } from '../../../transcript/line.ts';
import { createLineSplitter } from '../../../transcript/split-lines.ts';
import { chatOfZyhive, parseZyhiveSender } from '../../zyhive-names.ts';
import { type FoundConvlog, textIn } from '../source.ts';
import { readBytes } from '../source-files.ts';

const ROLES: readonly ConvlogRole[] = ['user', 'assistant', 'system'];

/**
 * Reads a channel log of ZyHive, `<channel type>-<chat>.jsonl`. A line without a channel belongs to the one in the file's
 * name. The chat gets the id that Reprise gives it, so that later messages of the chat extend the same log.
 */
export async function readConvlogFile(path: string, agentId: string): ReturnType<FoundConvlog['read']> {
  const lines: ConvlogLine[] = [];
  const [, channelType = 'unknown', channelId = 'unknown'] =
    /^([^-]+)-(.+)\.jsonl$/.exec(basename(path)) ?? [];
  let bad = 0;
  const { maxRecordBytes } = DEFAULT_RECORD_LIMITS;
  const splitter = createLineSplitter(maxRecordBytes, ({ bytes, length }) => {
    const decoded = length > maxRecordBytes ? undefined : decodeLine(bytes);
    if (decoded?.kind === 'blank') return;
    const line =
      decoded?.kind === 'record' ? lineOf(decoded.record, { agentId, channelType, channelId }) : undefined;
    if (line === undefined) bad++;
    else lines.push(line);
  });
  for await (const chunk of readBytes(path)) splitter.push(chunk);
  splitter.end();
  return {
    lines,
    problems: bad === 0 ? [] : [bad === 1 ? '1 line is no message' : `${bad} lines are no messages`],
  };
}

function lineOf(
  record: JsonObject,
  named: Pick<ConvlogLine, 'agentId' | 'channelType' | 'channelId'>,
): ConvlogLine | undefined {
  const role = ROLES.find((each) => each === record['role']);
  const { content, ts, timestamp } = record;
  if (role === undefined || typeof content !== 'string') return undefined;
  const channelType = textIn(record['channelType']) ?? named.channelType;
  const channelId = textIn(record['channelId']);
  return {
    agentId: named.agentId,
    channelType,
    channelId: channelId === undefined ? named.channelId : chatOfZyhive(channelType, channelId),
    role,
    content,
    // As stores return it: a second import compares times as text.
    ts: new Date(Date.parse(isoTime(ts ?? timestamp)) || 0).toISOString(),
    ...senderOf(record['sender']),
  };
}

/** A text in ZyHive, an object in earlier exports of Reprise. */
function senderOf(given: unknown): { sender?: ConvlogSender } {
  const sender = typeof given === 'string' ? parseZyhiveSender(given) : isObject(given) ? given : {};
  const id = textIn(sender?.id);
  const name = textIn(sender?.name);
  return id === undefined ? {} : { sender: { id, ...(name !== undefined && { name }) } };
}
