import { stopText } from '../stop-session.ts';
import type { UndoResult } from '../take-step.ts';
import {
  type CommandAnswer,
  type CommandContext,
  type CommandHandler,
  keyOf,
  refuse,
} from './command-context.ts';

export const undo: CommandHandler = async (args, context) =>
  stepped(await context.session.undo({ anyway: args.toLowerCase() === 'anyway', ...keyOf(context) }), {
    done: 'Took back',
    verb: 'undo',
  });

export const redo: CommandHandler = async (_args, context) =>
  stepped(await context.session.redo(keyOf(context)), { done: 'Brought back', verb: 'redo' });

/** A reset that is taken back leaves this session; where its key went is told by the step, whoever has it by now. */
function stepped(
  { undone, sessionId }: UndoResult,
  { done, verb }: { readonly done: string; readonly verb: string },
): CommandAnswer {
  if (undone === null) return { text: `Nothing to ${verb}.` };
  return { text: `${done} the last ${undone}.`, ...(sessionId !== undefined && { sessionId }) };
}

/** Whoever says stop wants silence: what waits is not answered either, and no child comes back with a result. */
export const stop: CommandHandler = async (_args, { session }) => ({
  text: stopText(await session.stop({ waiting: true })),
});

/** Same message, new branch. */
export const retry: CommandHandler = async (_args, context) =>
  again(context, 'Once more; the old answer stays as a branch (/tree).');

/** Other words, same images and notes. */
export const edit: CommandHandler = async (args, context) => {
  if (args === '') throw refuse('/edit wants the new text', 'Write: /edit <text>');
  return again(context, 'Said anew; what was there stays as a branch (/tree).', args);
};

async function again(
  { session, request, signal }: CommandContext,
  done: string,
  text?: string,
): Promise<CommandAnswer> {
  const turn = session.sendAgain({ ...request, text, signal });
  await turn.accepted;
  return { text: done, turn };
}
