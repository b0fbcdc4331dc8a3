import { z } from 'zod';
import type { ServerApp, ServerContext } from './context.ts';
import { addOperation } from './operation.ts';

const DESCRIPTION = `Sessions of AI agents that survive: durable before they are answered, visible and reversible.

Every request but those to static files and /healthz carries "Authorization: Bearer <token>". Errors are
application/problem+json with a stable code. Lists answer {data, hasMore, firstId, lastId} and take limit, after and
before. Mutations take an Idempotency-Key: the same request with the same key is done once, another one is refused.

An agent with profile zyhive answers some operations in the shape of ZyHive. Send "Accept: application/vnd.reprise+json" to get
the shape of Reprise from every agent.`;

/** GET /openapi.json, made of the schemas that check requests. Call it last: it knows what was added before. */
export function registerOpenApi(app: ServerApp, { version }: ServerContext): void {
  app.openAPIRegistry.registerComponent('securitySchemes', 'bearer', { type: 'http', scheme: 'bearer' });
  let document: string | undefined;
  addOperation(app, {
    method: 'get',
    paths: ['/openapi.json'],
    id: 'openapi',
    tag: 'meta',
    summary: 'This document',
    answer: { schema: z.looseObject({ openapi: z.string() }), description: 'OpenAPI 3.1' },
    run: ({ c }) => {
      // Routes do not change while the server runs.
      document ??= JSON.stringify(
        app.getOpenAPI31Document({
          openapi: '3.1.0',
          info: { title: 'Reprise', version, description: DESCRIPTION },
          security: [{ bearer: [] }],
        }),
      );
      return c.body(document, 200, { 'Content-Type': 'application/json' });
    },
  });
}
