import { RepriseError } from '../../errors.ts';
import { messagesText } from '../../messages/english.ts';
import { failure } from '../../messages/failure.ts';
import { message, whyOf } from '../../messages/message.ts';
import type { CommandContext, CommandHandler, CommandResult } from './command-context.ts';
import { type Command, type CommandName, type CommandRow, findCommand, type Surface } from './commands.ts';
import { compact } from './compact.ts';
import { showContext } from './context.ts';
import { copyAnswer, help, history, showTree } from './look.ts';
import { explain, status } from './report.ts';
import { begin, exportTranscript, fork, listSessions, remove, repair, search, switchTo } from './sessions.ts';
import { model, pin, queue, rename, unpin } from './settings.ts';
import { edit, redo, retry, stop, undo } from './steps.ts';

const HANDLERS: Readonly<Record<CommandName, CommandHandler>> = {
  new: begin,
  sessions: listSessions,
  switch: switchTo,
  history,
  tree: showTree,
  fork,
  undo,
  redo,
  context: showContext,
  compact,
  explain,
  retry,
  edit,
  delete: remove,
  rename,
  pin,
  unpin,
  repair,
  search,
  model,
  queue,
  stop,
  status,
  copy: copyAnswer,
  export: exportTranscript,
  help,
  quit: async () => ({ messages: [message('chat.quit')], quit: true }),
};

/**
 * Runs a command in the session in which it was typed. A failure is returned as an answer with a code, because a
 * person reads it. The command itself is not stored, only its effects.
 */
export async function runCommand({ name, args }: Command, context: CommandContext): Promise<CommandResult> {
  try {
    const row = findCommand(name);
    const elsewhere = row === undefined ? undefined : notHere(row, context.surface);
    if (elsewhere !== undefined) throw elsewhere;
    const answer = await HANDLERS[name](args, context);
    return { name, ...answer, text: messagesText(answer.messages) };
  } catch (error) {
    if (!(error instanceof RepriseError)) throw error;
    const messages = [whyOf(error)];
    return { name, code: error.code, error, messages, text: messagesText(messages) };
  }
}

function notHere({ name, scope, surfaces }: CommandRow, surface: Surface): RepriseError | undefined {
  if (surfaces.includes(surface)) return undefined;
  const isTyped = surfaces.every((one) => one === 'repl');
  const place = isTyped ? 'terminal' : scope === 'owner' ? 'owner' : 'other';
  return failure('FORBIDDEN', 'command.notHere', { name, place });
}
