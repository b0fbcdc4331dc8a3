import { basename } from 'node:path';
import type { ConvlogLine, ConvlogRole, ConvlogSender } from '../../store/port/convlog.ts';
import { isoTime } from '../../transcript/dialects/time.ts';
import { isObject, type JsonObject } from '../../transcript/json.ts';
import { DEFAULT_RECORD_LIMITS } from '../../transcript/limits.ts';
import { decodeLine } from '../../transcript/line.ts';
import { createLineSplitter } from '../../transcript/split-lines.ts';
import type { FoundConvlog } from './source.ts';
import { readBytes } from './source-files.ts';

const ROLES: readonly ConvlogRole[] = ['user', 'assistant', 'system'];

/** What was said on one channel: ZyHive's `<channel>-<chat>.jsonl`. Lines say themselves where they belong, or the name does. */
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
  return { lines, problems: bad === 0 ? [] : [`${bad} lines are no messages`] };
}

function lineOf(
  record: JsonObject,
  named: Pick<ConvlogLine, 'agentId' | 'channelType' | 'channelId'>,
): ConvlogLine | undefined {
  const role = ROLES.find((each) => each === record['role']);
  const { content, channelType, channelId, ts, timestamp } = record;
  if (role === undefined || typeof content !== 'string') return undefined;
  return {
    agentId: named.agentId,
    channelType: typeof channelType === 'string' && channelType !== '' ? channelType : named.channelType,
    channelId: typeof channelId === 'string' && channelId !== '' ? channelId : named.channelId,
    role,
    content,
    ts: isoTime(ts ?? timestamp),
    ...senderOf(record['sender']),
  };
}

function senderOf(sender: unknown): { sender?: ConvlogSender } {
  if (!isObject(sender)) return {};
  const { id, name } = sender;
  if (typeof id !== 'string' || id === '') return {};
  return { sender: { id, ...(typeof name === 'string' && name !== '' && { name }) } };
}
