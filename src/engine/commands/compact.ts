import { pinsInForce } from '../../compaction/pins.ts';
import { undoCompaction } from '../../compaction/undo.ts';
import { estimateEntryTokens } from '../../context/estimate-message.ts';
import { RepriseError } from '../../errors.ts';
import type { Entry } from '../../transcript/entry.ts';
import { messageName, messagePositions } from '../../transcript/message-position.ts';
import { pathEntries } from '../../transcript/tree.ts';
import { type Keyed, requestKey } from '../keyed-request.ts';
import { undoStep } from '../undo.ts';
import {
  type CommandAnswer,
  type CommandContext,
  type CommandHandler,
  count,
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
  if (done === null) return { text: 'Nothing to gain by it yet.' };
  return { text: `Compacted: ~${done.tokensBefore} -> ~${done.tokensAfter} tokens.` };
};

async function preview({ session }: CommandContext): Promise<CommandAnswer> {
  const plan = await session.previewCompaction();
  if (plan === null) return { text: 'Nothing to gain by it yet.' };
  const { coveredEntries, coveredTokens, keptEntries, keptTokens, firstKeptEntryId, splitsTurn } = plan;
  const from = messageName(messagePositions(await readEntries(session)), firstKeptEntryId);
  const inside = splitsTurn ? ', inside a long turn' : '';
  return {
    text: `Would compact ${count(coveredEntries)} entries (~${count(coveredTokens)} tokens) and keep ${count(keptEntries)} (~${count(keptTokens)} tokens), from ${from} on${inside}.`,
  };
}

/** The last compaction in force, with every turn since kept: `/undo` would take those turns first. */
async function takeBack(context: CommandContext, anyway: boolean): Promise<CommandAnswer> {
  const { session } = context;
  const all = await readEntries(session);
  const key = keyOf(context);
  if (undoStep(all)?.kind === 'compaction' || isDone(all, key)) await session.undo({ anyway, ...key });
  else if (!(await appendUndo(context, all, anyway))) return { text: 'No compaction is in force.' };
  return { text: 'Took back the last compaction; every turn since is kept.' };
}

/** Sent again: what it took back the first time stands there, and is all it takes back. */
function isDone(all: readonly Entry[], { idempotencyKey }: Keyed): boolean {
  return idempotencyKey !== undefined && all.some(({ seal }) => seal?.k === requestKey(idempotencyKey));
}

async function appendUndo(context: CommandContext, all: readonly Entry[], anyway: boolean): Promise<boolean> {
  const { reprise, session } = context;
  const path = pathEntries(all);
  const undone = undoCompaction(path);
  if (undone === undefined) return false;
  if ((await openTurns(context)).some(({ state }) => state === 'running'))
    throw new RepriseError('SESSION_BUSY', 'a turn is running', { details: { next: 'Wait, or /stop it.' } });
  const from = path.findIndex(({ id }) => id === undone.firstKeptEntryId);
  const { budget } = await session.context();
  const tokens = path.slice(Math.max(0, from)).reduce((sum, entry) => sum + estimateEntryTokens(entry), 0);
  if (tokens > budget && !anyway)
    throw new RepriseError('CONTEXT_OVERFLOW', `what comes back has ~${tokens} tokens; ${budget} fit`, {
      details: {
        tokens,
        budget,
        next: '/fork before it, or "/compact undo anyway": the next turn compacts anew.',
      },
    });
  const { details, ...rest } = undone;
  const entry = { type: 'compaction', ...rest, details: { ...details, pins: pinsInForce(all) } };
  // A turn that began meanwhile has moved the leaf, so this is refused; one that begins later sees it.
  const { idempotencyKey } = keyOf(context);
  await reprise.store.append(session.id, [entry], {
    expectedLeaf: path.at(-1)?.id ?? null,
    ...(idempotencyKey !== undefined && { key: requestKey(idempotencyKey) }),
  });
  return true;
}
