import { estimateEntryTokens } from '../../context/estimate-message.ts';
import type { NewEntry } from '../../store/port/store.ts';
import type { ContextView } from '../turn/turn-context.ts';
import { type CompactionMeasures, planFor } from './compactor.ts';

/**
 * Edits that hide the oldest whole turns so that the rest fits, for conversations that are not summarized. Empty if
 * nothing can be hidden.
 */
export function hideOldest(
  view: ContextView,
  measures: CompactionMeasures,
): { readonly edits: readonly NewEntry[]; readonly tokensSaved: number } {
  const { edits: inForce } = view.selection;
  // Keep half of what fits; otherwise every later turn would hide another one.
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
