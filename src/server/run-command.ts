import type { Context } from 'hono';
import { parseCommand, unknownCommandText } from '../engine/commands.ts';
import { runCommand } from '../engine/run-command.ts';
import { RepriseError } from '../errors.ts';
import type { CommandBody } from '../protocol/commands.ts';
import { OWN_CHANNEL, type ServerContext, type ServerEnv } from './context.ts';
import type { Session } from './find-session.ts';

/** One line of the command table. What it cannot do is a problem with the code the command gave. */
export async function runHttpCommand(
  { reprise, modelByName }: ServerContext,
  session: Session,
  { command: line, confirm = false }: CommandBody,
  c: Context<ServerEnv>,
): Promise<object> {
  const command = parseCommand(line, { surface: 'http' });
  const next = 'GET /api/commands lists what there is.';
  if (command === undefined || 'message' in command)
    throw new RepriseError('INVALID_INPUT', 'a command begins with one slash', {
      details: { next: 'Messages go to POST /api/agents/{agentId}/chat.' },
    });
  if ('unknown' in command)
    throw new RepriseError('NOT_FOUND', unknownCommandText(command), { details: { next } });
  const { name, text, sessionId, listed, code, turn } = await runCommand(command, {
    reprise,
    session,
    surface: 'http',
    request: {
      idempotencyKey: c.get('idempotencyKey'),
      isFresh: !c.get('hasOwnKey'),
      channel: OWN_CHANNEL,
    },
    ...(confirm && { confirm: async () => true }),
    ...(modelByName !== undefined && { modelByName }),
  });
  if (code !== undefined) throw new RepriseError(code, text, { details: { command: name, next } });
  // Whoever wants to hear the turn joins it by the id of its message.
  const inboxId = (await turn?.accepted)?.inboxId;
  return {
    name,
    text,
    ...(sessionId !== undefined && { sessionId }),
    ...(listed !== undefined && { listed }),
    ...(inboxId !== undefined && { inboxId }),
  };
}
