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

/** One thing that was said or happened. */
export interface HistoryRow {
  readonly id: string;
  /** Of a user or assistant message: 3 is the third one of its branch. People write it as `#3`. */
  readonly position?: number | undefined;
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
  /** Of an answer: `provider/model`, what it took, how it ended. */
  readonly model?: string | undefined;
  readonly usage?: TokenUsage | undefined;
  readonly stopReason?: string | undefined;
  readonly error?: string | undefined;
  /** Of a tool's result. */
  readonly toolCallId?: string | undefined;
  readonly toolName?: string | undefined;
  readonly isError?: boolean | undefined;
  readonly durationMs?: number | undefined;
  /** Where the conversation was gone on with more than once: what each branch begins with, oldest first. */
  readonly branches?: readonly string[] | undefined;
  /** Of an entry that is no message: whatever else it says, as it is stored. */
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
      description: 'More than one conversation goes on here: the first entry of each, this one too.',
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

/** Unset: the newest page. */
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
      .meta({ description: 'Also how turns ended, and where somebody went back or began anew.' }),
  })
  .refine(
    ({ after, before, around }) => [after, before, around].filter((given) => given !== undefined).length <= 1,
    { params: { exclusive: ['after', 'before', 'around'] } },
  );

/** What is in the context now, by id, from the entries a store gives for it. */
export function contextIds(tail: readonly Entry[]): ReadonlySet<string> {
  return new Set(selectContext(tail).entries.map(({ id }) => id));
}

/** The current branch with missing parents mended. */
export function branchOf(all: readonly Entry[]): Entry[] {
  return pathEntries(all);
}

/** The ids of the current branch with missing parents mended. */
export function pathIds(all: readonly Entry[]): ReadonlySet<string> {
  return new Set(pathEntries(all).map(({ id }) => id));
}

/** Part of the conversation, not a fact beside it: where two of them hang on one, it has branches. */
export function isSaid(entry: Entry): boolean {
  return !isSideEntry(entry);
}

/** Without `inContext` all of them are. */
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
  // How a turn ended may repeat what a provider said of a key (T87).
  return entry['customType'] === 'reprise.turn' ? (redactJson(fields) as JsonObject) : fields;
}

type Facts = Pick<
  HistoryRow,
  'model' | 'usage' | 'stopReason' | 'error' | 'toolCallId' | 'toolName' | 'isError' | 'durationMs'
>;

/** A file may say anything: what is not of its kind is left out. */
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
