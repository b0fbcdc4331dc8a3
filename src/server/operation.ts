import { createRoute } from '@hono/zod-openapi';
import type { Context } from 'hono';
import type { z } from 'zod';
import { problemSchema } from '../protocol/problem-schema.ts';
import { isForAnyone } from './access.ts';
import type { ServerApp, ServerEnv } from './context.ts';

export interface OperationInput<P, Q, B> {
  readonly params: P;
  readonly query: Q;
  readonly body: B;
  readonly c: Context<ServerEnv>;
}

/** One row of the OpenAPI document and what answers it. */
export interface Operation<P, Q, B> {
  readonly method: 'get' | 'post' | 'patch' | 'delete';
  /** `/api/agents/{agentId}`; several paths are one operation. */
  readonly paths: readonly string[];
  readonly id: string;
  readonly tag: string;
  readonly summary: string;
  readonly params?: z.ZodType<P>;
  readonly query?: z.ZodType<Q>;
  /** An object; without `needsBody` no body is the same as `{}`. */
  readonly body?: z.ZodType<B>;
  readonly needsBody?: boolean;
  readonly answer: {
    readonly status?: number;
    readonly schema?: z.ZodType;
    readonly type?: string;
    readonly description: string;
  };
  /** Headers it looks at, for the document. */
  readonly headers?: z.ZodType;
  readonly run: (input: OperationInput<P, Q, B>) => Promise<Response> | Response;
}

/** Adds it to the app and to the document. Input is checked by its schemas; what is refused never reaches `run`. */
export function addOperation<P = unknown, Q = unknown, B = unknown>(
  app: ServerApp,
  operation: Operation<P, Q, B>,
): void {
  for (const [i, path] of operation.paths.entries()) {
    const {
      method,
      id,
      tag,
      summary,
      params,
      query,
      body,
      needsBody = false,
      headers,
      answer,
      run,
    } = operation;
    const { status = 200, schema, type = 'application/json', description } = answer;
    const route = createRoute({
      method,
      path,
      operationId: i === 0 ? id : `${id}${i + 1}`,
      tags: [tag],
      summary,
      security: isForAnyone(method, path) ? [] : [{ bearer: [] }],
      request: {
        ...(params !== undefined && { params: params as unknown as z.ZodObject }),
        ...(query !== undefined && { query: query as unknown as z.ZodObject }),
        ...(headers !== undefined && { headers: headers as unknown as z.ZodObject }),
        ...(body !== undefined && {
          body: { required: needsBody, content: { 'application/json': { schema: body } } },
        }),
      },
      responses: {
        [status]: { description, ...(schema !== undefined && { content: { [type]: { schema } } }) },
        default: {
          description: 'A problem',
          content: { 'application/problem+json': { schema: problemSchema } },
        },
      },
    });
    const handler = (c: Context<ServerEnv>): Promise<Response> | Response => {
      // Filled by the validators the route was made with, one for each part that has a schema.
      const valid = c.req.valid.bind(c.req) as unknown as (target: string) => unknown;
      const of = (target: string, part: unknown): unknown => (part === undefined ? {} : valid(target));
      return run({
        params: of('param', params) as P,
        query: of('query', query) as Q,
        body: of('json', body) as B,
        c,
      });
    };
    app.openapi(route, handler as never);
  }
}
