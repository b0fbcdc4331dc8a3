import { estimateEntryTokens } from '../../context/estimate-message.ts';
import type { NewEntry } from '../../store/port/store.ts';
import type { ContextView } from '../turn/turn-context.ts';
import { type CompactionMeasures, planFor } from './compactor.ts';

/**
 * What to hide so that the rest fits, for conversations of which nothing is summarised: whole turns, the oldest first,
 * by edits. Nothing is left to hide: no edits.
 */
export function hideOldest(
  view: ContextView,
  measures: CompactionMeasures,
): { readonly edits: readonly NewEntry[]; readonly tokensSaved: number } {
  const { edits: inForce } = view.selection;
  // Half of what fits: else every turn from now on would hide another one.
  const cut = { kind: 'keep-tokens', tokens: Math.floor(measures.maxKeptTokens / 2) } as const;
  const plan = planFor(view, { ...measures, enabled: true, cut });
  let tokensSaved = 0;
  const edits = (plan?.covered ?? []).flatMap((entry): NewEntry[] => {
    const tokens = estimateEntryTokens(entry, inForce.get(entry));
    if (tokens === 0) return [];
    tokensSaved += tokens;
    return [{ type: 'context_edit', targetId: entry.id, replacement: null }];
  });
  return { edits, tokensSaved };
}
