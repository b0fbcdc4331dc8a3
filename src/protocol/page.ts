import { z } from 'zod';

/** A page of a list, in the order of its route, with the ids from which to continue. */
export interface Page<T> {
  readonly data: readonly T[];
  readonly hasMore: boolean;
  readonly firstId: string | null;
  readonly lastId: string | null;
}

interface PageShape<T extends z.ZodType> {
  data: z.ZodArray<T>;
  hasMore: z.ZodBoolean;
  firstId: z.ZodNullable<z.ZodString>;
  lastId: z.ZodNullable<z.ZodString>;
}

export function pageShape<T extends z.ZodType>(row: T): PageShape<T> {
  return {
    data: z.array(row),
    hasMore: z.boolean(),
    firstId: z.string().nullable(),
    lastId: z.string().nullable(),
  };
}

export function pageOf<T extends { readonly id: string }>(data: readonly T[], hasMore: boolean): Page<T> {
  return { data, hasMore, firstId: data[0]?.id ?? null, lastId: data.at(-1)?.id ?? null };
}

const MAX_CURSOR = 1024;

interface CountShape {
  limit: z.ZodDefault<z.ZodCoercedNumber>;
}

/** The `limit` query parameter of a list. */
export function limitShape(normal: number, max: number): CountShape {
  return { limit: z.coerce.number().int().min(1).max(max).default(normal) as unknown as CountShape['limit'] };
}

export const cursorSchema: z.ZodString = z.string().min(1).max(MAX_CURSOR);
