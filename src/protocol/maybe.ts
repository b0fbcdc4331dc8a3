import type { z } from 'zod';

/**
 * May be left out. As `exactOptional`, but shown as optional in the OpenAPI document, which asks whether `undefined`
 * passes. JSON has no undefined, so nothing else gets in.
 */
export function maybe<S extends z.ZodType>(schema: S): z.ZodExactOptional<S> {
  return schema.optional() as unknown as z.ZodExactOptional<S>;
}
