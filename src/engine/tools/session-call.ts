import type { SessionRecord } from '../../store/port/store.ts';
import type { JsonObject } from '../../transcript/json.ts';
import type { SessionReach } from '../agents/session-reach.ts';
import type { ToolContext } from './tool.ts';

/** The caller of a session tool, and the sessions it may access. */
export interface SessionCall {
  readonly caller: SessionRecord;
  readonly reach: SessionReach;
}

export type ReadCall = (context: ToolContext) => Promise<SessionCall>;

export const SESSION_NAME = {
  sessionKey: { type: 'string', description: 'The key of the session.' },
  label: { type: 'string', description: 'Or its label.' },
} as const;

export function inputSchema(properties: JsonObject, required: readonly string[] = []): JsonObject {
  return { type: 'object', properties, required, additionalProperties: false };
}
