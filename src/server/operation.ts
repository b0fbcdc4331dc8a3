import { createRoute } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { z } from 'zod';
import { acceptsOwnType, OWN_TYPE } from '../protocol/media-type.ts';
import { problemSchema } from '../protocol/problem-schema.ts';
import type { ServerApp, ServerEnv } from './context.ts';
import { isForAnyone } from './security/access.ts';

export interface OperationInput<P, Q, B> {
  readonly params: P;
  readonly query: Q;
  readonly body: B;
  readonly c: Context<ServerEnv>;
}

type Run<P, Q, B> = (input: OperationInput<P, Q, B>) => Promise<Response> | Response;

/** The answer in the shape of another system, which a request gets unless it accepts `OWN_TYPE`. */
export interface OtherShape<P, Q, B> {
  readonly schema: z.ZodType;
  /** Whether the agent that was asked answers in this shape. */
  readonly isUsed: (input: OperationInput<P, Q, B>) => boolean;
  readonly run: Run<P, Q, B>;
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
    /** A second answer, without a body. */
    readonly empty?: { readonly status: number; readonly description: string };
  };
  /** Headers it looks at, for the document. */
  readonly headers?: z.ZodType;
  readonly run: Run<P, Q, B>;
  readonly otherShape?: OtherShape<P, Q, B>;
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
      otherShape,
    } = operation;
    const { status = 200 } = answer;
    const description = otherShape === undefined ? answer.description : `${answer.description}. ${SHAPES}`;
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
        [status]: { description, ...contentOf(operation) },
        ...(answer.empty !== undefined && {
          [answer.empty.status]: { description: answer.empty.description },
        }),
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
      const input = {
        params: of('param', params) as P,
        query: of('query', query) as Q,
        body: of('json', body) as B,
        c,
      };
      return otherShape === undefined ? run(input) : runInShape(run, otherShape, input);
    };
    app.openapi(route, handler as never);
  }
}

const JSON_TYPE = 'application/json';
const SHAPES = `An agent with profile zyhive answers in the shape of ZyHive, unless the request accepts ${OWN_TYPE}.`;

function contentOf<P, Q, B>({
  answer: { schema, type = JSON_TYPE },
  otherShape,
}: Operation<P, Q, B>): { readonly content?: Record<string, { readonly schema: z.ZodType }> } {
  if (schema === undefined) return {};
  if (otherShape === undefined) return { content: { [type]: { schema } } };
  const either = z.union([schema, otherShape.schema]);
  return { content: { [type]: { schema: either }, ...(type === JSON_TYPE && { [OWN_TYPE]: { schema } }) } };
}

async function runInShape<P, Q, B>(
  run: Run<P, Q, B>,
  other: OtherShape<P, Q, B>,
  input: OperationInput<P, Q, B>,
): Promise<Response> {
  const isOwnAsked = acceptsOwnType(input.c.req.header('accept'));
  const response = await (!isOwnAsked && other.isUsed(input) ? other.run(input) : run(input));
  const { headers } = response;
  headers.append('Vary', 'Accept');
  if (isOwnAsked && headers.get('content-type')?.startsWith(JSON_TYPE) === true)
    headers.set('Content-Type', OWN_TYPE);
  return response;
}
