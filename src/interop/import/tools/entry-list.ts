import type { Entry } from '../../../transcript/entry.ts';
import { isObject, type JsonObject } from '../../../transcript/json.ts';
import { LossCounter } from '../loss-report.ts';
import type { ReadSession } from '../source.ts';

/** Collects the entries of one session of another tool, and counts what becomes of each record. */
export class EntryList {
  readonly entries: Entry[] = [];
  readonly loss: LossCounter = new LossCounter();
  readonly #tool: string;
  /** Names of called tools, which results of some tools do not repeat. */
  readonly #calls: Map<string, string> = new Map();

  constructor(tool: string) {
    this.#tool = tool;
  }

  get last(): string | null {
    return this.entries.at(-1)?.id ?? null;
  }

  add(type: string, id: string, parentId: string | null, timestamp: string, fields: JsonObject): void {
    this.entries.push({ ...fields, type, id, parentId, timestamp });
    this.loss.imported(type);
  }

  message(id: string, parentId: string | null, timestamp: string, message: JsonObject): void {
    const { role, content } = message;
    for (const block of Array.isArray(content) ? (content as readonly unknown[]) : [])
      if (isObject(block) && block['type'] === 'toolCall' && typeof block['id'] === 'string')
        this.#calls.set(block['id'], String(block['name']));
    const isUnnamed =
      role === 'toolResult' && (message['toolName'] === '' || message['toolName'] === undefined);
    const named = isUnnamed
      ? { ...message, toolName: this.#calls.get(String(message['toolCallId'])) ?? '' }
      : message;
    this.entries.push({ type: 'message', id, parentId, timestamp, message: named });
    this.loss.imported(String(role));
  }

  /** Stores a record of an unknown kind as it is. It has no effect. */
  raw(
    kind: string,
    record: unknown,
    place: string,
    entry: Pick<Entry, 'id' | 'parentId' | 'timestamp'>,
  ): void {
    const customType = `imported.${this.#tool}.${kind.replace(/[^\w./-]/g, '_').slice(0, 60)}`;
    this.entries.push({ type: 'custom', ...entry, customType, data: isObject(record) ? record : { record } });
    this.loss.raw(kind, place);
  }

  finish(
    header: NonNullable<ReadSession['header']>,
    problems: readonly string[] = [],
    settings: JsonObject = {},
  ): ReadSession {
    return { header, entries: this.entries, problems, loss: this.loss.report, settings };
  }
}

/** A session header with the fields that are known. */
export function headerOf(
  id: string | undefined,
  fields: { readonly [Name in 'timestamp' | 'cwd' | 'title' | 'parentSession']?: unknown },
): NonNullable<ReadSession['header']> {
  const known = Object.entries(fields).filter(([, value]) => typeof value === 'string' && value !== '');
  return { type: 'session', ...(id !== undefined && { id }), ...Object.fromEntries(known) };
}

export function textBlock(text: string): JsonObject {
  return { type: 'text', text };
}

/** Sums of tokens as they are stored here. @returns undefined if nothing was counted. */
export function usageOf(
  input: unknown,
  output: unknown,
  cacheRead: unknown,
  cacheWrite: unknown,
): JsonObject | undefined {
  const [i, o, r, w] = [input, output, cacheRead, cacheWrite].map((value) =>
    typeof value === 'number' && value > 0 ? value : 0,
  ) as [number, number, number, number];
  const totalTokens = i + o + r + w;
  return totalTokens === 0 ? undefined : { input: i, output: o, cacheRead: r, cacheWrite: w, totalTokens };
}

/** `{type: 'image'}` from a data URL. @returns undefined for every other address. */
export function imageOfUrl(url: unknown): JsonObject | undefined {
  const [, mimeType, data] = typeof url === 'string' ? (/^data:([^;,]+);base64,(.*)$/s.exec(url) ?? []) : [];
  return data === undefined ? undefined : { type: 'image', mimeType, data };
}

/** The arguments of a call. Text that is no JSON object is kept as it is. */
export function callArguments(value: unknown): JsonObject {
  if (isObject(value)) return { arguments: value };
  if (typeof value !== 'string') return { arguments: {} };
  try {
    const parsed: unknown = JSON.parse(value);
    if (isObject(parsed)) return { arguments: parsed };
  } catch {
    // Cut off while the model wrote it.
  }
  return { arguments: {}, partialJson: value };
}
