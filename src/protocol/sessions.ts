import { z } from 'zod';
import type { JsonObject } from '../transcript/json.ts';
import { agentIdSchema, sessionIdSchema } from './ids.ts';
import { cursorSchema, limitShape, type Page, pageShape } from './page.ts';

/** A session in the API. */
export interface SessionView {
  readonly id: string;
  readonly agentId: string;
  readonly sessionKey: string;
  readonly title: string;
  readonly label?: string | undefined;
  readonly status: 'open' | 'deleted';
  readonly active: boolean;
  readonly messageCount: number;
  readonly turnCount: number;
  readonly tokenEstimate: number;
  readonly createdAt: string;
  readonly lastAt: string;
  readonly parentId?: string | undefined;
  readonly lastSeq: number;
  readonly leaf: string | null;
  readonly settings: JsonObject;
  readonly corruptAt?: number | undefined;
}

export const sessionSchema: z.ZodType<SessionView> = z
  .object({
    id: z.string(),
    agentId: z.string(),
    sessionKey: z.string(),
    title: z.string(),
    label: z.string().optional(),
    status: z.enum(['open', 'deleted']),
    active: z.boolean().meta({ description: 'Its key stands for this session now.' }),
    messageCount: z.int(),
    turnCount: z.int(),
    tokenEstimate: z.number(),
    createdAt: z.string(),
    lastAt: z.string(),
    parentId: z.string().optional(),
    lastSeq: z.int(),
    leaf: z.string().nullable(),
    settings: z.record(z.string(), z.unknown()),
    corruptAt: z
      .int()
      .optional()
      .meta({ description: 'Byte offset of damage; such a session is read-only.' }),
  })
  .meta({ id: 'Session' });

/** Copies field by field, so that internal fields of the store are not sent. */
export function sessionView(record: SessionView): SessionView {
  const { label, parentId, corruptAt } = record;
  return {
    id: record.id,
    agentId: record.agentId,
    sessionKey: record.sessionKey,
    title: record.title,
    ...(label !== undefined && { label }),
    status: record.status,
    active: record.active,
    messageCount: record.messageCount,
    turnCount: record.turnCount,
    tokenEstimate: record.tokenEstimate,
    createdAt: record.createdAt,
    lastAt: record.lastAt,
    ...(parentId !== undefined && { parentId }),
    lastSeq: record.lastSeq,
    leaf: record.leaf,
    settings: record.settings,
    ...(corruptAt !== undefined && { corruptAt }),
  };
}

export interface SessionAnswer {
  readonly session: SessionView;
}

export const sessionAnswerSchema: z.ZodType<SessionAnswer> = z.object({ session: sessionSchema });

export interface SessionListQuery {
  readonly limit: number;
  readonly after?: string | undefined;
  readonly before?: string | undefined;
  readonly cursor?: string | undefined;
  readonly status?: 'open' | 'deleted' | 'any' | undefined;
  readonly channel?: string | undefined;
  readonly kind?: string | undefined;
  readonly parentId?: string | undefined;
  readonly q?: string | undefined;
  readonly sort?: 'time' | 'messages' | 'tokens' | undefined;
  readonly order?: 'asc' | 'desc' | undefined;
}

const filter = z.string().min(1).max(500).optional();

const listFilters = {
  ...limitShape(50, 1000),
  after: sessionIdSchema.optional().meta({ description: 'Behind this session.' }),
  before: sessionIdSchema.optional().meta({ description: 'In front of this session.' }),
  cursor: cursorSchema
    .optional()
    .meta({ description: '`cursor` of the page before; stays right while sessions move.' }),
  status: z.enum(['open', 'deleted', 'any']).optional(),
  channel: filter,
  kind: filter,
  parentId: sessionIdSchema.optional(),
  q: filter.meta({ description: 'Part of the title or label.' }),
  sort: z
    .enum(['time', 'messages', 'tokens'])
    .optional()
    .meta({ description: 'By default time; a cursor belongs to the sort it came from.' }),
  order: z.enum(['asc', 'desc']).optional().meta({ description: 'By default desc: the newest or the most.' }),
};

export const sessionListQuery: z.ZodType<SessionListQuery> = z.strictObject(listFilters);

export interface AllSessionsQuery extends SessionListQuery {
  readonly agentId?: string | undefined;
}

export const allSessionsQuery: z.ZodType<AllSessionsQuery> = z.strictObject({
  ...listFilters,
  agentId: agentIdSchema.optional().meta({ description: 'Only sessions of this agent.' }),
});

/** Newest first, or in the requested order. */
export interface SessionList extends Page<SessionView> {
  readonly cursor: string | null;
  /** Set while the index is rebuilt: only `listed` of `total` sessions can be in lists, and `done` have counts. */
  readonly rebuilding?:
    | { readonly done: number; readonly total: number; readonly listed?: number | undefined }
    | undefined;
}

export const sessionListSchema: z.ZodType<SessionList> = z.object({
  ...pageShape(sessionSchema),
  cursor: z.string().nullable(),
  rebuilding: z.object({ done: z.int(), total: z.int(), listed: z.int().optional() }).optional().meta({
    description:
      'Set while the index is rebuilt from the transcripts: `listed` of `total` sessions can be in lists, and the counts of `done` of them are complete.',
  }),
});

/** Settings by name; null removes one. The engine knows which names exist and which are read-only. */
export const sessionPatchSchema: z.ZodType<JsonObject> = z
  .looseObject({
    title: z.string().trim().min(1).max(500).optional(),
    label: z.string().min(1).max(500).nullable().optional(),
    model: z.string().min(1).max(200).nullable().optional(),
    archived: z.boolean().nullable().optional(),
  })
  .meta({ description: 'title and settings; names that start with x- are free, unknown ones are refused' });
