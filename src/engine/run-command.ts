import { RepriseError } from '../errors.ts';
import type {
  CommandAnswer,
  CommandContext,
  CommandHandler,
  CommandResult,
} from './commands/command-context.ts';
import { compact } from './commands/compact.ts';
import { showContext } from './commands/context.ts';
import { help, history, showTree } from './commands/look.ts';
import { explain, status } from './commands/report.ts';
import {
  begin,
  exportTranscript,
  fork,
  listSessions,
  remove,
  repair,
  search,
  switchTo,
} from './commands/sessions.ts';
import { model, pin, queue, rename, unpin } from './commands/settings.ts';
import { edit, redo, retry, stop, undo } from './commands/steps.ts';
import { type Command, type CommandName, type CommandRow, findCommand, type Surface } from './commands.ts';

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
  export: exportTranscript,
  help,
  quit: async () => ({ text: 'Everything is kept.', quit: true }),
};

/**
 * Runs a command on the session it was typed in. What cannot be done is an answer too, with its code: a person reads
 * it. Nothing of a command is stored but what it does.
 */
export async function runCommand({ name, args }: Command, context: CommandContext): Promise<CommandResult> {
  try {
    const row = findCommand(name);
    const elsewhere = row === undefined ? undefined : notHere(row, context.surface);
    if (elsewhere !== undefined) throw elsewhere;
    return { name, ...(await HANDLERS[name](args, context)) };
  } catch (error) {
    if (!(error instanceof RepriseError)) throw error;
    return { name, code: error.code, ...failureText(error) };
  }
}

function notHere({ name, scope, surfaces }: CommandRow, surface: Surface): RepriseError | undefined {
  if (surfaces.includes(surface)) return undefined;
  const isTyped = surfaces.every((one) => one === 'repl');
  const whose = isTyped
    ? 'a chat in a terminal'
    : scope === 'owner'
      ? 'the owner of these sessions'
      : 'elsewhere';
  return new RepriseError('FORBIDDEN', `/${name} is for ${whose}, not for here`, {
    details: { next: '/help lists what works here.' },
  });
}

function failureText({ message, details }: RepriseError): CommandAnswer {
  const { next } = details;
  const first = `${message.charAt(0).toUpperCase()}${message.slice(1)}.`;
  return { text: typeof next === 'string' ? `${first}\n${next}` : first };
}
