import { roleOf } from '../../compaction/safe-cut.ts';
import { RepriseError } from '../../errors.ts';
import { loadBlobs } from '../../store/load-blobs.ts';
import { hydrateBlobs } from '../../transcript/blobs.ts';
import { contentText, readBlocks } from '../../transcript/content.ts';
import type { Entry } from '../../transcript/entry.ts';
import { isObject } from '../../transcript/json.ts';
import { pathEntries } from '../../transcript/tree.ts';
import type { UserInput } from '../inbound.ts';
import type { UndoResult } from '../session.ts';
import { undoStep } from '../undo.ts';
import { type CommandAnswer, type CommandContext, type CommandHandler, refuse } from './command-context.ts';
import { readEntries } from './read-entries.ts';

export const undo: CommandHandler = async (args, context) =>
  stepped(context, {
    step: () => context.session.undo({ anyway: args.toLowerCase() === 'anyway' }),
    done: 'Took back',
    verb: 'undo',
  });

export const redo: CommandHandler = async (_args, context) =>
  stepped(context, { step: () => context.session.redo(), done: 'Brought back', verb: 'redo' });

async function stepped(
  { reprise, session }: CommandContext,
  how: { readonly step: () => Promise<UndoResult>; readonly done: string; readonly verb: string },
): Promise<CommandAnswer> {
  const { active } = await session.record();
  const { undone } = await how.step();
  if (undone === null) return { text: `Nothing to ${how.verb}.` };
  const text = `${how.done} the last ${undone}.`;
  // A reset that is taken back leaves this session: its key stands for another one again.
  const now = active ? await reprise.store.active(session.key) : undefined;
  return now === undefined || now.id === session.id ? { text } : { text, sessionId: now.id };
}

/** Whoever says stop wants silence: what waits is not answered either. */
export const stop: CommandHandler = async (_args, { session }) => {
  const { stopped, cancelled } = await session.stop({ waiting: true });
  const done = stopped ? 'Stopped; what arrived is kept.' : 'Nothing is running.';
  return { text: cancelled === 0 ? done : `${done} ${cancelled} waiting, now cancelled.` };
};

/** Same message, new branch. */
export const retry: CommandHandler = async (_args, context) => {
  const input = await takeBackLastMessage(context);
  return { text: 'Once more; the old answer stays as a branch (/tree).', send: input };
};

/** Other words, same images and notes. */
export const edit: CommandHandler = async (args, context) => {
  if (args === '') throw refuse('/edit wants the new text', 'Write: /edit <text>');
  const input = await takeBackLastMessage(context);
  return { text: 'Said anew; what was there stays as a branch (/tree).', send: { ...input, text: args } };
};

async function takeBackLastMessage({ reprise, session }: CommandContext): Promise<UserInput> {
  const all = await readEntries(session);
  const step = undoStep(all);
  if (step === undefined) throw new RepriseError('NOT_FOUND', 'nothing was said here yet');
  if (step.kind !== 'turn')
    throw new RepriseError('LEAF_MOVED', `the last step is a ${step.kind}, not a message`, {
      details: { next: '/undo takes it back first.' },
    });
  const path = pathEntries(all);
  const at = path.findLastIndex((entry) => roleOf(entry) === 'user');
  const said = path[at];
  if (said === undefined) throw new RepriseError('NOT_FOUND', 'nothing was said here yet');
  const blobs = await loadBlobs(reprise.store, session.id, [said]);
  const input = inputOf(hydrateBlobs([said], blobs)[0] ?? said, path[at - 1]);
  await session.undo();
  return input;
}

/** The message as it was sent, so that sending it again stores the same. */
function inputOf({ message }: Entry, before: Entry | undefined): UserInput {
  const content = isObject(message) ? message['content'] : '';
  const blocks = readBlocks(content);
  const images = blocks.flatMap((block) =>
    block.type === 'image' ? [{ data: block.data, mimeType: block.mimeType }] : [],
  );
  const text = blocks.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');
  const note = before?.type === 'custom_message' ? contentText(before['content']) : '';
  return { text, ...(images.length > 0 && { images }), ...(note !== '' && { context: note }) };
}
