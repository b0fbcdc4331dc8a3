import { z } from 'zod';
import { shownCalls } from '../transcript/content.ts';
import type { Entry } from '../transcript/entry.ts';
import { entryText } from '../transcript/entry-text.ts';
import { isObject } from '../transcript/json.ts';
import { selectContext } from '../transcript/select.ts';
import { pathEntries } from '../transcript/tree.ts';
import { limitShape, type Page, pageShape } from './page.ts';
import { type SessionView, sessionSchema } from './sessions.ts';

/** One thing that was said or happened. */
export interface HistoryRow {
  readonly id: string;
  readonly seq: number;
  /** A message's role, else the type of the entry. */
  readonly role: string;
  readonly text: string;
  readonly content?: unknown;
  readonly toolCalls?:
    | readonly { readonly id: string; readonly name: string; readonly input?: unknown }[]
    | undefined;
  readonly timestamp: string;
  /** A summary stands for it in what a model is sent. */
  readonly compacted?: boolean | undefined;
}

const toolCall = z.object({ id: z.string(), name: z.string(), input: z.unknown().optional() });

export const historyRowSchema: z.ZodType<HistoryRow> = z
  .object({
    id: z.string(),
    seq: z.int(),
    role: z.string(),
    text: z.string(),
    content: z.unknown().optional(),
    toolCalls: z.array(toolCall).optional(),
    timestamp: z.string(),
    compacted: z.boolean().optional(),
  })
  .meta({ id: 'HistoryRow' });

export interface HistoryPage extends Page<HistoryRow> {
  readonly session: SessionView;
}

export const historyPageSchema: z.ZodType<HistoryPage> = z.object({
  session: sessionSchema,
  ...pageShape(historyRowSchema),
});

export interface HistoryQuery {
  readonly limit: number;
  readonly after?: string | undefined;
  readonly before?: string | undefined;
}

const entryId = z.string().min(1).max(256);

/** Unset: the newest page. */
export const historyQuery: z.ZodType<HistoryQuery> = z
  .strictObject({ ...limitShape(200, 1000), after: entryId.optional(), before: entryId.optional() })
  .refine(({ after, before }) => after === undefined || before === undefined, {
    error: 'after or before, not both',
  });

/** What is in the context now, by id, from the entries a store gives for it. */
export function contextIds(tail: readonly Entry[]): ReadonlySet<string> {
  return new Set(selectContext(tail).entries.map(({ id }) => id));
}

/** The conversation as it stands, by id, with what is missing in a file mended. */
export function pathIds(all: readonly Entry[]): ReadonlySet<string> {
  return new Set(pathEntries(all).map(({ id }) => id));
}

export function historyRow(entry: Entry, seq: number, inContext: ReadonlySet<string>): HistoryRow {
  const { id, timestamp, type } = entry;
  const message = isObject(entry['message']) ? entry['message'] : undefined;
  const row = { id, seq, role: type, text: '', timestamp };
  if (message === undefined) return { ...row, text: entryText(entry) };
  const { content } = message;
  const toolCalls = shownCalls(content);
  return {
    ...row,
    role: String(message['role']),
    text: entryText(entry),
    content,
    ...(toolCalls.length > 0 && { toolCalls }),
    ...(!inContext.has(id) && { compacted: true }),
  };
}
