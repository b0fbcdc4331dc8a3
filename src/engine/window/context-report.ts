import { contextBudget } from '../../context/budget.ts';
import { measureContext } from '../../context/calibration.ts';
import type { ContextWindowGuard } from '../../context/window.ts';
import type { Entry } from '../../transcript/entry.ts';
import type { NewestContext } from '../turn/newest-context.ts';
import { fitSplit, type RequestFrame, type TokenSplit } from '../turn/turn-context.ts';

export interface ContextReport {
  /** Counted by the estimator of the session's profile. The parts of `split` add up to it. */
  readonly tokens: number;
  readonly window: ContextWindowGuard;
  readonly budget: number;
  readonly reserve: number;
  readonly split: TokenSplit & { readonly margin?: number };
  readonly messages: number;
  /** Set if only this many turns are sent; the other field counts the stored messages that are not. */
  readonly historyTurns?: number;
  readonly unsentMessages?: number;
  /** The newest part alone exceeds the window; only part of it was counted. */
  readonly isPart?: true;
}

export function reportContext(
  { view, isPart }: NewestContext,
  window: ContextWindowGuard,
  { maxOutputTokens, calibration }: Pick<RequestFrame, 'maxOutputTokens' | 'calibration'>,
): ContextReport {
  const { budget, reserve } = contextBudget(window.tokens, maxOutputTokens);
  const { counted: tokens, historyTurns, whole, selection } = view;
  const overhead = tokens === view.tokens ? (view.split.overhead ?? 0) : 0;
  const fixedTokens = view.estimates.system + view.estimates.tools;
  // Another estimator has no margin.
  const margin = tokens === view.tokens ? measureContext(selection, { fixedTokens, calibration }).margin : 0;
  const parts = fitSplit(view.split, { total: tokens - margin, overhead });
  const split = margin === 0 ? parts : { ...parts, margin };
  const messages = view.request.messages.length;
  const unsentMessages = messagesIn(whole.entries) - messagesIn(selection.entries);
  return {
    ...{ tokens, window, budget, reserve, split, messages },
    ...(historyTurns !== undefined && { historyTurns, unsentMessages }),
    ...(isPart && { isPart }),
  };
}

function messagesIn(entries: readonly Entry[]): number {
  return entries.filter(({ type }) => type === 'message').length;
}
