import { failure } from '../../messages/failure.ts';
import { message } from '../../messages/message.ts';
import { type CommandAnswer, type CommandContext, type CommandHandler, keyOf } from './command-context.ts';

/** `sessionId`: after undoing a reset, the surface shows the previous session. */
export const undo: CommandHandler = async (args, context) => {
  const isAnyway = args.toLowerCase() === 'anyway';
  const { undone, sessionId } = await context.session.undo({ anyway: isAnyway, ...keyOf(context) });
  const done = undone === null ? message('undo.nothing') : message('undo.done', { what: undone });
  return { messages: [done], ...(sessionId !== undefined && { sessionId }) };
};

export const redo: CommandHandler = async (_args, context) => {
  const { undone, sessionId } = await context.session.redo(keyOf(context));
  const done = undone === null ? message('redo.nothing') : message('redo.done', { what: undone });
  return { messages: [done], ...(sessionId !== undefined && { sessionId }) };
};

/** Also cancels queued messages and the tasks of subagents: a user who stops an agent expects silence. */
export const stop: CommandHandler = async (_args, { session }) => {
  const { stopped, cancelled, children } = await session.stop({ waiting: true });
  return { messages: [message('stop.done', { stopped, cancelled, children })] };
};

/** Sends the same message again on a new branch. */
export const retry: CommandHandler = async (_args, context) => again(context, 'retry.started');

/** Sends a new text with the images and notes of the old message. */
export const edit: CommandHandler = async (args, context) => {
  if (args === '')
    throw failure('INVALID_INPUT', 'command.needsArgument', { name: 'edit', usage: '/edit <text>' });
  return again(context, 'edit.started', args);
};

async function again(
  { session, request, signal }: CommandContext,
  started: 'retry.started' | 'edit.started',
  text?: string,
): Promise<CommandAnswer> {
  const turn = session.sendAgain({ ...request, text, signal });
  await turn.accepted;
  return { messages: [message(started)], turn };
}
