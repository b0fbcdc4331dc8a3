import { createHash } from 'node:crypto';
import type { Entry } from '../../transcript/entry.ts';
import { isObject, type JsonObject } from '../../transcript/json.ts';

/**
 * Where an imported entry came from. It is a field of the stored entry, so it survives every loss of an index, and a
 * later import of the same source finds what is already here.
 */
export interface SourceEntry {
  /** The id of the entry in its source: its field `sourceId`, by which stores can find it. */
  readonly id: string;
  /** Of its content, to notice an entry that changed in the source. */
  readonly hash: string;
  /** Blocks of its message that are in other entries, because they were written before this part was read. */
  readonly from?: number;
  /** The number of blocks up to the end of this part. */
  readonly blocks?: number;
}

interface SourceFields {
  readonly sourceId: string;
  readonly sourceEntry: Omit<SourceEntry, 'id'>;
}

export function sourceFields({ id, ...rest }: SourceEntry): SourceFields {
  return { sourceId: id, sourceEntry: rest };
}

export function withoutSource<E extends JsonObject>(entry: E): Omit<E, 'sourceId' | 'sourceEntry'> {
  const { sourceId: _id, sourceEntry: _entry, ...rest } = entry;
  return rest;
}

export function sourceEntryOf({ sourceId: id, sourceEntry: value }: JsonObject): SourceEntry | undefined {
  if (!isObject(value) || typeof id !== 'string' || typeof value['hash'] !== 'string') return undefined;
  const { hash, from, blocks } = value;
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
    const { tokensAfter: _tokens, ...content } = withoutSource(rest);
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
