import { z } from 'zod';
import type { ExplainedMessage } from '../engine/admin/explain.ts';
import type { BranchPlace } from '../engine/history/undo.ts';
import type { CompactionPreview } from '../engine/window/compactor.ts';
import { inboxState } from './chat.ts';
import { maybe } from './maybe.ts';
import { sessionSchema } from './sessions.ts';

/** Requests and answers of the routes that change a session. */

const entryId = z.string().min(1).max(256);

export interface CompactBody {
  readonly focus?: string | undefined;
  readonly dryRun?: boolean | undefined;
}

export const compactBody: z.ZodType<CompactBody> = z.strictObject({
  focus: z
    .string()
    .min(1)
    .max(2000)
    .optional()
    .meta({ description: 'What the summary should keep above all.' }),
  dryRun: z
    .boolean()
    .optional()
    .meta({ description: 'Say what would be covered; ask no model, write nothing.' }),
});

const previewSchema: z.ZodType<CompactionPreview> = z.object({
  coveredEntries: z.int(),
  keptEntries: z.int(),
  coveredTokens: z.number(),
  keptTokens: z.number(),
  firstKeptEntryId: z.string(),
  splitsTurn: z.boolean(),
});

const compactionSchema = z.object({
  seq: z.int(),
  reason: z.string(),
  method: z.string(),
  coveredEntries: z.int(),
  tokensBefore: z.number(),
  tokensAfter: z.number(),
});

/** Null if there was nothing to compact. */
export const compactAnswer: z.ZodType = z.object({
  compaction: compactionSchema.nullable().optional(),
  preview: previewSchema.nullable().optional(),
});

export interface ForkBody {
  readonly at?: string | undefined;
}

export const forkBody: z.ZodType<ForkBody> = z.strictObject({
  at: entryId.optional().meta({ description: 'The last entry of the copy; unset: all of it.' }),
});

export interface BranchBody {
  readonly entryId: string;
  readonly place?: BranchPlace | undefined;
}

export const branchBody: z.ZodType<BranchBody> = z.strictObject({
  entryId: entryId.meta({ description: 'An entry of any branch; GET …/tree has them.' }),
  place: z.enum(['behind', 'before', 'end']).optional().meta({
    description:
      'Where to continue: after the entry (default), before it, or at the last leaf of the branch that starts with it (end).',
  }),
});

export interface UndoBody {
  readonly anyway?: boolean | undefined;
}

export const undoBody: z.ZodType<UndoBody> = z.strictObject({
  anyway: z.boolean().optional().meta({ description: 'Also where more comes back than fits.' }),
});

export const NO_BODY: z.ZodType<object> = z.strictObject({});

export const undoAnswer: z.ZodType = z.object({
  undone: z.enum(['turn', 'compaction', 'reset']).nullable(),
  sessionId: z.string().optional(),
  session: sessionSchema,
});

export const redoAnswer: z.ZodType = z.object({
  redone: z.enum(['turn', 'compaction', 'reset']).nullable(),
  sessionId: z.string().optional(),
  session: sessionSchema,
});

export interface PinBody {
  readonly entryId: string;
}

export const pinBody: z.ZodType<PinBody> = z.strictObject({ entryId });

export const pinsAnswer: z.ZodType = z.object({
  pins: z.array(z.object({ entryId: z.string(), text: z.string() })),
});

export interface PurgeQuery {
  readonly withCopies?: 'true' | 'false' | undefined;
  readonly keepChannelLog?: 'true' | 'false' | undefined;
}

export const purgeQuery: z.ZodType<PurgeQuery> = z.strictObject({
  withCopies: z.enum(['true', 'false']).optional().meta({
    description: 'Also purge the sessions and remove the notes that have copies of the text',
  }),
  keepChannelLog: z.enum(['true', 'false']).optional().meta({
    description: 'Keep the messages in channel logs',
  }),
});

export const purgeAnswer: z.ZodType = z.object({
  id: z.string(),
  purged: z.literal(true),
  copies: z.array(z.looseObject({ kind: z.enum(['session', 'memory', 'file']) })).meta({
    description:
      'What still has text of the session: other sessions by `sessionId`, notes and files by `file`',
  }),
  purgedToo: z.array(z.string()).meta({ description: 'Other sessions that were purged as copies' }),
});

export interface ExplainParams {
  readonly agentId: string;
  readonly sessionId: string;
  readonly turnId: string;
}

export interface BlobParams {
  readonly agentId: string;
  readonly sessionId: string;
  readonly blob: string;
}

export interface ExportQuery {
  readonly lost: 'refuse' | 'preview';
  readonly redact: boolean;
}

export const exportQuery: z.ZodType<ExportQuery> = z.strictObject({
  lost: z.enum(['refuse', 'preview']).default('refuse').meta({
    description:
      'If a large part is missing or damaged: answer 409 and send nothing, or send its preview instead of it.',
  }),
  redact: z
    .stringbool({ truthy: ['true', '1'], falsy: ['false', '0'] })
    .default(false)
    .meta({
      description: 'Mask keys, tokens and passwords. The lines come without seals.',
    }),
});

export const blobName: z.ZodType<string> = z
  .string()
  .regex(/^sha256:[0-9a-f]{64}$/)
  .meta({ description: 'The `blob` of a block: sha256: and 64 hex digits' });

const explainedMessage: z.ZodType<ExplainedMessage> = z.object({
  inboxId: z.string(),
  state: maybe(inboxState),
  mergedInto: maybe(z.string()),
  channel: maybe(z.string()),
  sender: maybe(z.object({ id: z.string(), name: maybe(z.string()) })),
  entryId: maybe(z.string()),
  position: maybe(z.int()),
  carries: maybe(z.array(z.string())),
});

/** The request of a model call is large, so only its identifying fields are described. */
export const explainAnswer: z.ZodType = z.looseObject({
  turnId: z.string(),
  status: z.string(),
  messages: z.array(explainedMessage).meta({
    description:
      'The messages that the turn answers, with their inbox rows: several if messages were steered or collected into it',
  }),
  calls: z.array(z.record(z.string(), z.unknown())),
});

const usageSchema = z.looseObject({ input: z.number(), output: z.number(), totalTokens: z.number() });

export const totalsAnswer: z.ZodType = z.object({ turns: z.int(), calls: z.int(), usage: usageSchema });

export const contextAnswer: z.ZodType = z.object({
  tokens: z.number(),
  window: z.looseObject({ tokens: z.number(), source: z.string() }),
  budget: z.number(),
  reserve: z.number(),
  split: z.record(z.string(), z.number()),
  messages: z.int(),
  historyTurns: z.int().optional().meta({ description: 'Only so many turns are sent to the model.' }),
  unsentMessages: z.int().optional().meta({ description: 'Stored messages that this limit leaves out.' }),
  isPart: z
    .boolean()
    .optional()
    .meta({ description: 'Only the newest part was counted: it is more than the window holds already.' }),
});
