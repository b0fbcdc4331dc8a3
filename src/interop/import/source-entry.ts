import { createHash } from 'node:crypto';
import type { Entry } from '../../transcript/entry.ts';
import { isObject, type JsonObject } from '../../transcript/json.ts';

/**
 * Where an imported entry came from. It is a field of the stored entry, so it survives every loss of an index, and a
 * later import of the same source finds what is already here.
 */
export interface SourceEntry {
  /** The id of the entry in its source. */
  readonly id: string;
  /** Of its content, to notice an entry that changed in the source. */
  readonly hash: string;
  /** Blocks of its message that are in other entries, because they were written before this part was read. */
  readonly from?: number;
  /** The number of blocks up to the end of this part. */
  readonly blocks?: number;
}

/** The field of a stored entry that holds its `SourceEntry`. */
export const SOURCE_ENTRY = 'sourceEntry';

export function sourceEntryOf(entry: JsonObject): SourceEntry | undefined {
  const value = entry[SOURCE_ENTRY];
  if (!isObject(value) || typeof value['id'] !== 'string' || typeof value['hash'] !== 'string')
    return undefined;
  const { id, hash, from, blocks } = value;
  return {
    id,
    hash,
    ...(typeof from === 'number' && { from }),
    ...(typeof blocks === 'number' && { blocks }),
  };
}

/** The blocks of an answer, which tools write one after another. @returns undefined for every other entry. */
export function answerBlocks({ type, message }: Entry): readonly unknown[] | undefined {
  if (type !== 'message' || !isObject(message) || message['role'] !== 'assistant') return undefined;
  const { content } = message;
  return Array.isArray(content) ? (content as readonly unknown[]) : undefined;
}

/** Hashes what an entry says. Usage, model and times may be added later without making it another entry. */
export function entryHash(entry: Entry, from: number = 0, to?: number): string {
  return createHash('sha256')
    .update(JSON.stringify(contentOf(entry, from, to)))
    .digest('hex')
    .slice(0, 16);
}

function contentOf(entry: Entry, from: number, to: number | undefined): unknown {
  const { id: _id, parentId: _parent, timestamp: _time, copiedAt: _copied, seal: _seal, ...rest } = entry;
  const { message } = rest;
  if (entry.type !== 'message' || !isObject(message)) {
    const { [SOURCE_ENTRY]: _source, tokensAfter: _tokens, ...content } = rest;
    return content;
  }
  const { role, content, toolCallId, isError } = message;
  const blocks = Array.isArray(content) ? (content as readonly unknown[]).slice(from, to) : content;
  return ['message', role, toolCallId, isError, blocks, ...otherText(message)];
}

/** The words of messages that have no content: a command and its output, a summary of a branch. */
function otherText({ command, output, summary }: JsonObject): readonly unknown[] {
  return command === undefined && output === undefined && summary === undefined
    ? []
    : [command, output, summary];
}
