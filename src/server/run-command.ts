import type { Context } from 'hono';
import { parseCommand, unknownCommand } from '../engine/commands/commands.ts';
import { runCommand } from '../engine/commands/run-command.ts';
import { failure, failureOf } from '../messages/failure.ts';
import type { CommandBody } from '../protocol/commands.ts';
import { OWN_CHANNEL, type ServerContext, type ServerEnv } from './context.ts';
import type { Session } from './find-session.ts';
import { userOf } from './security/ownership.ts';

/** Runs one command. A command that fails answers with its problem. */
export async function runHttpCommand(
  { reprise, modelByName, listModels }: ServerContext,
  session: Session,
  { command: line, confirm = false }: CommandBody,
  c: Context<ServerEnv>,
): Promise<object> {
  // Users have the rights of senders on a channel.
  const surface = userOf(c) === undefined ? 'http' : 'channel';
  const command = parseCommand(line, { surface });
  if (command === undefined || 'message' in command) throw failure('INVALID_INPUT', 'command.notOne');
  if ('unknown' in command) throw failureOf('NOT_FOUND', unknownCommand(command));
  const { name, text, messages, sessionId, listed, error, turn } = await runCommand(command, {
    reprise,
    session,
    surface,
    request: {
      idempotencyKey: c.get('idempotencyKey'),
      isFresh: !c.get('hasOwnKey'),
      channel: OWN_CHANNEL,
    },
    ...(confirm && { confirm: async () => true }),
    ...(modelByName !== undefined && { modelByName }),
    ...(listModels !== undefined && { listModels }),
  });
  if (error !== undefined) throw error;
  // A client that wants to follow the turn joins it by the id of its message.
  const inboxId = (await turn?.accepted)?.inboxId;
  return {
    name,
    text,
    messages,
    ...(sessionId !== undefined && { sessionId }),
    ...(listed !== undefined && { listed }),
    ...(inboxId !== undefined && { inboxId }),
  };
}
