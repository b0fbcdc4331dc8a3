import { pinsInForce } from '../../compaction/pins.ts';
import { undoCompaction } from '../../compaction/undo.ts';
import { estimateEntryTokens } from '../../context/estimate-message.ts';
import { failure } from '../../messages/failure.ts';
import { message } from '../../messages/message.ts';
import type { Entry } from '../../transcript/entry.ts';
import { messageName, messagePositions } from '../../transcript/message-position.ts';
import { pathEntries } from '../../transcript/tree.ts';
import { undoStep } from '../history/undo.ts';
import { type Keyed, requestKey } from '../intake/keyed-request.ts';
import {
  type CommandAnswer,
  type CommandContext,
  type CommandHandler,
  keyOf,
  openTurns,
} from './command-context.ts';
import { readEntries } from './read-entries.ts';

/** `/compact [focus]`, `/compact --dry-run`, `/compact undo [anyway]` */
export const compact: CommandHandler = async (args, context) => {
  const [, undo, anyway] = /^(undo)(?:\s+(anyway))?$/i.exec(args) ?? [];
  if (undo !== undefined) return takeBack(context, anyway !== undefined);
  if (/^--dry-run$/i.test(args)) return preview(context);
  const { session, signal } = context;
  const done = await session.compact({
    ...(signal !== undefined && { signal }),
    ...(args !== '' && { focus: args }),
    ...keyOf(context),
  });
  if (done === null) return { messages: [message('compact.nothing')] };
  const { tokensBefore, tokensAfter } = done;
  return { messages: [message('compact.done', { tokensBefore, tokensAfter })] };
};

async function preview({ session }: CommandContext): Promise<CommandAnswer> {
  const plan = await session.previewCompaction();
  if (plan === null) return { messages: [message('compact.nothing')] };
  const { firstKeptEntryId, ...sizes } = plan;
  const from = messageName(messagePositions(await readEntries(session)), firstKeptEntryId);
  return { messages: [message('compact.preview', { ...sizes, from })] };
}

/** Undoes the active compaction and keeps every later turn; `/undo` would undo those turns first. */
async function takeBack(context: CommandContext, anyway: boolean): Promise<CommandAnswer> {
  const { session } = context;
  const all = await readEntries(session);
  const key = keyOf(context);
  if (undoStep(all)?.kind === 'compaction' || isDone(all, key)) await session.undo({ anyway, ...key });
  else if (!(await appendUndo(context, all, anyway))) return { messages: [message('compact.noneInForce')] };
  return { messages: [message('compact.undone')] };
}

/**
 * Whether this request has already been carried out: its first attempt undid a compaction, and a retry must not undo
 * another one.
 */
function isDone(all: readonly Entry[], { idempotencyKey }: Keyed): boolean {
  return idempotencyKey !== undefined && all.some(({ seal }) => seal?.k === requestKey(idempotencyKey));
}

async function appendUndo(context: CommandContext, all: readonly Entry[], anyway: boolean): Promise<boolean> {
  const { reprise, session } = context;
  const path = pathEntries(all);
  const undone = undoCompaction(path);
  if (undone === undefined) return false;
  if ((await openTurns(context)).some(({ state }) => state === 'running'))
    throw failure('SESSION_BUSY', 'turn.running');
  const from = path.findIndex(({ id }) => id === undone.firstKeptEntryId);
  const { budget } = await session.context();
  const tokens = path.slice(Math.max(0, from)).reduce((sum, entry) => sum + estimateEntryTokens(entry), 0);
  if (tokens > budget && !anyway)
    throw failure('CONTEXT_OVERFLOW', 'undo.tooLarge', { tokens, budget }, { details: { tokens, budget } });
  const { details, ...rest } = undone;
  const entry = { type: 'compaction', ...rest, details: { ...details, pins: pinsInForce(all) } };
  // If a turn has moved the leaf meanwhile, the append is refused; a later turn sees its effect.
  const { idempotencyKey } = keyOf(context);
  await reprise.store.append(session.id, [entry], {
    expectedLeaf: path.at(-1)?.id ?? null,
    ...(idempotencyKey !== undefined && { key: requestKey(idempotencyKey) }),
  });
  return true;
}
