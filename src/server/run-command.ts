import { parseCommand, unknownCommandText } from '../engine/commands.ts';
import type { UserInput } from '../engine/inbound.ts';
import { runCommand } from '../engine/run-command.ts';
import { RepriseError } from '../errors.ts';
import type { CommandBody } from '../protocol/commands.ts';
import { OWN_CHANNEL, type ServerContext } from './context.ts';
import type { Session } from './find-session.ts';

/** One line of the command table. What it cannot do is a problem with the code the command gave. */
export async function runHttpCommand(
  { reprise, modelByName }: ServerContext,
  session: Session,
  { command: line, confirm = false }: CommandBody,
): Promise<object> {
  const command = parseCommand(line, { surface: 'http' });
  const next = 'GET /api/commands lists what there is.';
  if (command === undefined || 'message' in command)
    throw new RepriseError('INVALID_INPUT', 'a command begins with one slash', {
      details: { next: 'Messages go to POST /api/agents/{agentId}/chat.' },
    });
  if ('unknown' in command)
    throw new RepriseError('NOT_FOUND', unknownCommandText(command), { details: { next } });
  const { name, text, sessionId, code, send } = await runCommand(command, {
    reprise,
    session,
    surface: 'http',
    ...(confirm && { confirm: async () => true }),
    ...(modelByName !== undefined && { modelByName }),
  });
  if (code !== undefined) throw new RepriseError(code, text, { details: { command: name, next } });
  const said = send === undefined ? {} : await sayAgain(reprise, session, send);
  return { name, text, ...(sessionId !== undefined && { sessionId }), ...said };
}

/** Accepted when this answers; whoever wants to hear the turn joins it by its id. */
async function sayAgain(
  reprise: ServerContext['reprise'],
  { id: sessionId }: Session,
  { text, images = [], context }: UserInput,
): Promise<{ readonly inboxId: string }> {
  const { inboxId } = await reprise.receive(
    {
      sessionId,
      channel: OWN_CHANNEL,
      // As text it came, and as text it goes: a message that began with a slash was escaped then too.
      text: text.startsWith('/') ? `/${text}` : text,
      ...(images.length > 0 && { images }),
      ...(context !== undefined && { context }),
    },
    { atOnce: true },
  );
  return { inboxId };
}
