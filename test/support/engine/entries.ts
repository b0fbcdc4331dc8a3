import { entryIdForSeq, type JsonObject } from '../../../src/exports/transcript.ts';
import type { Entry } from '../../../src/index.ts';

/** Builds canonical entries by hand, each under the one before it by default. */
export class EntryList {
  readonly entries: Entry[] = [];

  add(type: string, fields: JsonObject, parentId: string | null = this.leaf): string {
    const id = entryIdForSeq(this.entries.length + 2);
    const timestamp = new Date(Date.UTC(2025, 0, 1) + this.entries.length * 1000).toISOString();
    this.entries.push({ type, id, parentId, timestamp, ...fields });
    return id;
  }

  get leaf(): string | null {
    return this.entries.at(-1)?.id ?? null;
  }

  message(message: JsonObject): string {
    return this.add('message', { message });
  }

  user(content: unknown): string {
    return this.message({ role: 'user', content });
  }

  /** Strings are text, objects are blocks. */
  assistant(blocks: readonly (string | JsonObject)[], fields: JsonObject = {}): string {
    const content = blocks.map((block) =>
      typeof block === 'string' ? { type: 'text', text: block } : block,
    );
    return this.message({ role: 'assistant', content, stopReason: 'stop', ...fields });
  }

  result(toolCallId: string, text: string, fields: JsonObject = {}): string {
    const content = [{ type: 'text', text }];
    return this.message({
      role: 'toolResult',
      toolCallId,
      toolName: 'tool',
      content,
      isError: false,
      ...fields,
    });
  }
}

export function call(id: string, name = 'tool', args: unknown = {}): JsonObject {
  return { type: 'toolCall', id, name, arguments: args };
}
