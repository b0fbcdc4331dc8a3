import { z } from 'zod';
import { answerMessage } from '../../mcp/answer-message.ts';
import { ownedBy, WHOLE_HOME } from '../../mcp/session-scope.ts';
import type { ServerApp, ServerContext } from '../context.ts';
import { addOperation } from '../operation.ts';
import { userOf } from '../security/ownership.ts';

type McpMessage = Readonly<Record<string, unknown>>;

const message: z.ZodType<McpMessage> = z
  .looseObject({
    jsonrpc: z.literal('2.0'),
    id: z.union([z.string().max(256), z.int()]).optional(),
    method: z.string().min(1).max(256).optional(),
    params: z.looseObject({}).optional(),
  })
  .meta({ description: 'One JSON-RPC message of the Model Context Protocol; batches are not accepted' });

interface McpQuery {
  readonly write: boolean;
}

const query: z.ZodType<McpQuery> = z.strictObject({
  write: z
    .stringbool({ truthy: ['true', '1'], falsy: ['false', '0'] })
    .default(false)
    .meta({ description: 'Also offer the tools that annotate sessions, send messages and start subagents' }),
});

/** The MCP server over HTTP. It keeps no state between requests, so it offers no stream and no session id. */
export function registerMcp(app: ServerApp, { reprise, version }: ServerContext): void {
  addOperation(app, {
    method: 'post',
    paths: ['/mcp'],
    id: 'mcp',
    tag: 'mcp',
    summary: 'One message of an MCP client that searches and reads sessions',
    query,
    body: message,
    needsBody: true,
    answer: {
      schema: z.looseObject({ jsonrpc: z.literal('2.0') }),
      description: 'The answer to the message',
      empty: { status: 202, description: 'The message needs no answer' },
    },
    run: async ({ body, query: { write }, c }) => {
      const user = userOf(c);
      // The messages of a user name sessions only inside `params`, so the scope decides what they reach.
      const scope = user === undefined ? WHOLE_HOME : ownedBy(user);
      const mayWrite = write && c.get('principal')?.kind !== 'reader';
      const answer = await answerMessage({ reprise, scope, write: mayWrite, version }, body);
      return answer === undefined ? c.body(null, 202) : c.json(answer);
    },
  });
}
