import { z } from 'zod';
import { isSessionId, parseAgentId } from '../keys/ids.ts';

function isAgentId(id: string): boolean {
  try {
    return parseAgentId(id) === id;
  } catch {
    return false; // the schema reports it, with the grammar
  }
}

const agentId: z.ZodType<string> = z
  .string()
  .max(64)
  .refine(isAgentId, { params: { rule: 'agentId' } })
  .meta({ description: '1 to 64 of a-z 0-9 _ -', example: 'main' });

const sessionId: z.ZodType<string> = z
  .string()
  .max(128)
  .refine(isSessionId, { params: { rule: 'sessionId' } })
  .meta({ description: '1 to 128 of A-Z a-z 0-9 . _ -, starting with a letter or digit' });

export { agentId as agentIdSchema, sessionId as sessionIdSchema };

export interface AgentParams {
  readonly agentId: string;
}

export const agentParams: z.ZodType<AgentParams> = z.object({ agentId });

export interface SessionParams extends AgentParams {
  readonly sessionId: string;
}

export const sessionParams: z.ZodType<SessionParams> = z.object({ agentId, sessionId });
