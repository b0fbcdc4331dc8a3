import { z } from 'zod';
import { type Entry, isSideEntry, type Usage } from '../transcript/entry.ts';
import { isObject, type JsonObject } from '../transcript/json.ts';
import { redactJson, redactText } from '../transcript/redact/redact.ts';
import { selectContext } from '../transcript/render/select.ts';
import { shownEntry } from '../transcript/shown-entry.ts';
import { pathEntries } from '../transcript/tree.ts';
import { type TokenUsage, tokenUsage, tokenUsageSchema } from './events.ts';
import { limitShape, type Page, pageShape } from './page.ts';
import { type SessionView, sessionSchema } from './sessions.ts';

export {
  type MessagePositions,
  messageIds,
  parsePosition,
  positionsOf,
} from '../transcript/message-position.ts';

/** One message or event of a conversation. */
export interface HistoryRow {
  readonly id: string;
  /** Number of a user or assistant message: 3 is the third one of its branch. Users write it as `#3`. */
  readonly position?: number | undefined;
  readonly seq: number;
  /** The role of a message, or the type of another entry. */
  readonly role: string;
  readonly text: string;
  readonly content?: unknown;
  readonly toolCalls?:
    | readonly { readonly id: string; readonly name: string; readonly input?: unknown }[]
    | undefined;
  readonly timestamp: string;
  /** The model receives a summary instead of it. */
  readonly compacted?: boolean | undefined;
  /** Only for an answer: `provider/model`, its usage, and how it ended. */
  readonly model?: string | undefined;
  readonly usage?: TokenUsage | undefined;
  readonly stopReason?: string | undefined;
  readonly error?: string | undefined;
  /** Only for a tool result. */
  readonly toolCallId?: string | undefined;
  readonly toolName?: string | undefined;
  readonly isError?: boolean | undefined;
  readonly durationMs?: number | undefined;
  /** If the conversation continues here in more than one way: the first entry of each branch, oldest first. */
  readonly branches?: readonly string[] | undefined;
  /** Only for an entry that is not a message: its other fields, as stored. */
  readonly details?: JsonObject | undefined;
}

const toolCall = z.object({ id: z.string(), name: z.string(), input: z.unknown().optional() });

export const historyRowSchema: z.ZodType<HistoryRow> = z
  .object({
    id: z.string(),
    position: z.int().optional().meta({
      description:
        'Of a user or assistant message: its number on the branch, counted from 1. People write it as #3. Unset in sessions of more than 20,000 entries, and in streams.',
    }),
    seq: z.int(),
    role: z.string(),
    text: z.string(),
    content: z.unknown().optional(),
    toolCalls: z.array(toolCall).optional(),
    timestamp: z.string(),
    compacted: z.boolean().optional(),
    model: z.string().optional(),
    usage: tokenUsageSchema.optional(),
    stopReason: z.string().optional(),
    error: z.string().optional(),
    toolCallId: z.string().optional(),
    toolName: z.string().optional(),
    isError: z.boolean().optional(),
    durationMs: z.number().optional(),
    branches: z.array(z.string()).optional().meta({
      description: 'Several branches start here: the first entry of each, including this one.',
    }),
    details: z.record(z.string(), z.unknown()).optional(),
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
  readonly around?: string | undefined;
  readonly marks?: boolean | undefined;
}

const entryId = z.string().min(1).max(256);

/** Without `after`, `before` and `around` the newest page. */
export const historyQuery: z.ZodType<HistoryQuery> = z
  .strictObject({
    ...limitShape(200, 1000),
    after: entryId.optional(),
    before: entryId.optional(),
    around: entryId.optional().meta({
      description: 'An entry for the middle of the page: its id, its seq, or # and its position (#3).',
    }),
    marks: z
      .stringbool()
      .optional()
      .meta({ description: 'Include entries that record how turns ended, undo and resets.' }),
  })
  .refine(
    ({ after, before, around }) => [after, before, around].filter((given) => given !== undefined).length <= 1,
    { params: { exclusive: ['after', 'before', 'around'] } },
  );

/** The ids of the entries in the current context, from the entries that a store returns for it. */
export function contextIds(tail: readonly Entry[]): ReadonlySet<string> {
  return new Set(selectContext(tail).entries.map(({ id }) => id));
}

/** The current branch, with missing parents inferred. */
export function branchOf(all: readonly Entry[]): Entry[] {
  return pathEntries(all);
}

/** The ids of the current branch, with missing parents inferred. */
export function pathIds(all: readonly Entry[]): ReadonlySet<string> {
  return new Set(pathEntries(all).map(({ id }) => id));
}

/** Whether the entry is part of the conversation; two such entries with the same parent form branches. */
export function isSaid(entry: Entry): boolean {
  return !isSideEntry(entry);
}

/** Without `inContext` every row counts as in the context. */
export function historyRow(entry: Entry, seq: number, inContext?: ReadonlySet<string>): HistoryRow {
  const row = shownEntry(entry, seq);
  const { message } = entry;
  if (!isObject(message)) return { ...row, details: otherFields(entry) };
  const isLeftOut = inContext?.has(entry.id) === false;
  return { ...row, ...(isLeftOut && { compacted: true }), ...messageFacts(message) };
}

const KNOWN: ReadonlySet<string> = new Set(['type', 'id', 'parentId', 'timestamp', 'seal', 'summary']);

function otherFields(entry: Entry): JsonObject {
  const fields = Object.fromEntries(Object.entries(entry).filter(([name]) => !KNOWN.has(name)));
  // The error of a failed turn may contain a key that the provider repeated (T87).
  return entry['customType'] === 'reprise.turn' ? (redactJson(fields) as JsonObject) : fields;
}

type Facts = Pick<
  HistoryRow,
  'model' | 'usage' | 'stopReason' | 'error' | 'toolCallId' | 'toolName' | 'isError' | 'durationMs'
>;

/** The file may contain anything, so fields of the wrong type are left out. */
function messageFacts(message: JsonObject): Facts {
  const { role, provider, model, usage, stopReason, errorMessage, details } = message;
  if (role === 'toolResult') {
    const { toolCallId, toolName, isError } = message;
    const took = isObject(details) ? details['durationMs'] : undefined;
    return {
      toolCallId: String(toolCallId),
      toolName: String(toolName),
      isError: isError === true,
      ...(typeof took === 'number' && { durationMs: took }),
    };
  }
  if (role !== 'assistant') return {};
  const told = usageOf(usage);
  return {
    ...(typeof model === 'string' && {
      model: typeof provider === 'string' ? `${provider}/${model}` : model,
    }),
    ...(told !== undefined && { usage: told }),
    ...(typeof stopReason === 'string' && { stopReason }),
    ...(typeof errorMessage === 'string' && { error: redactText(errorMessage) }),
  };
}

function usageOf(usage: unknown): TokenUsage | undefined {
  if (!isObject(usage)) return undefined;
  const told = tokenUsage({ cacheRead: 0, cacheWrite: 0, ...usage } as unknown as Usage);
  return tokenUsageSchema.safeParse(told).success ? told : undefined;
}
