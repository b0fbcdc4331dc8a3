import type { Summarise } from '../../compaction/summarize.ts';
import { contextBudget } from '../../context/budget.ts';
import { estimateEntryTokens } from '../../context/estimate-message.ts';
import { planToolTruncation, truncateToolText } from '../../context/truncate.ts';
import { RepriseError } from '../../errors.ts';
import { causeText } from '../../messages/english.ts';
import { failure } from '../../messages/failure.ts';
import { message, whyOf } from '../../messages/message.ts';
import type { Lease, NewEntry } from '../../store/port/store.ts';
import { contentText } from '../../transcript/content.ts';
import type { Entry } from '../../transcript/entry.ts';
import { isObject } from '../../transcript/json.ts';
import { triggerTokens } from '../agents/profiles.ts';
import type { GuardEvent } from '../events.ts';
import { type ContextView, type RequestFrame, viewContext } from '../turn/turn-context.ts';
import { unexpected } from '../turn/turn-outcome.ts';
import type { TurnStore } from '../turn/turn-store.ts';
import {
  type CompactionMeasures,
  type CompactOptions,
  commitCompaction,
  planFor,
  prepareCompaction,
} from './compactor.ts';
import { hideOldest } from './hide-oldest.ts';

export interface GuardOptions {
  readonly store: TurnStore;
  readonly sessionId: string;
  readonly lease: Lease;
  readonly emit: (event: GuardEvent) => void;
  /** The model's window, as far as it is known; an overflow error may reduce it. */
  readonly window: () => number;
  readonly learnWindow: (limit: number) => void;
  /** Undefined while the breaker is open: then a digest replaces the summary. */
  readonly summarise: () => Summarise | undefined;
  readonly onSummary: (method: string) => void;
  /** Running tasks and other facts beside the conversation; every summary includes them. */
  readonly standing: () => Promise<readonly string[]>;
  /** Lets notes be written about the entries that will be covered. */
  readonly beforeCompaction: (covered: readonly Entry[], maxInputTokens: number) => Promise<void>;
  readonly signal: AbortSignal;
}

/** Each round makes the context smaller or ends the loop; this only limits the time. */
const MAX_ROUNDS = 8;
const MAX_OVERFLOW_RETRIES = 2;
/** From this round on, no model is called. */
const DIGEST_FROM_ROUND = 3;

/**
 * Keeps a conversation inside the window with the cheapest step first: send unchanged, shorten tool results, compact,
 * compact by digest. Every step is an entry, so that later requests are the same, and an event (P9).
 */
export class ContextGuard {
  readonly #options: GuardOptions;
  #overflows = 0;

  constructor(options: GuardOptions) {
    this.#options = options;
  }

  /** Returns the next request, made to fit. Throws CONTEXT_OVERFLOW only if the last message alone does not fit. */
  async fit(frame: RequestFrame): Promise<ContextView> {
    const { store, sessionId, signal, window } = this.#options;
    for (let round = 0; ; round++) {
      signal.throwIfAborted();
      const view = await viewContext(store, sessionId, frame);
      const { budget } = this.#budget(frame);
      if (view.tokens <= budget) {
        // Only once: the kept part may itself be above the trigger, and it fits.
        const isDue = round === 0 && view.counted > triggerTokens(frame.profile.trigger, window());
        if (isDue && (await this.#compact(view, frame, { reason: 'trigger', digest: false }))) continue;
        return view;
      }
      const excess = view.tokens - budget;
      const done =
        round < MAX_ROUNDS &&
        ((round === 0 && (await this.#truncate(view, excess))) ||
          (await this.#compact(view, frame, { reason: 'over budget', digest: round >= DIGEST_FROM_ROUND })) ||
          (await this.#hide(view, frame)));
      if (!done) throw this.#overflow(view, budget);
    }
  }

  /**
   * Call it after a provider refused the request as too long. Throws the provider's error if nothing more can be
   * done.
   */
  async shrink(view: ContextView, frame: RequestFrame, error: RepriseError): Promise<void> {
    const { emit, learnWindow } = this.#options;
    const attempt = ++this.#overflows;
    if (attempt > MAX_OVERFLOW_RETRIES) throw error;
    const { limit } = error.details;
    if (typeof limit === 'number') learnWindow(limit);
    emit({ type: 'overflow', attempt, reason: error.message, why: whyOf(error) });
    const { budget } = this.#budget(frame);
    // A request that was refused although it seemed to fit is assumed to be at least a third too large.
    const excess = Math.max(view.tokens - budget, Math.ceil(view.tokens / 3));
    if (attempt === 1 && (await this.#truncate(view, excess))) return;
    const maxTokens = Math.min(budget, view.tokens - excess);
    if (await this.#compact(view, frame, { reason: 'overflow', digest: false, maxTokens })) return;
    if (!(await this.#hide(view, frame, maxTokens))) throw error;
  }

  #budget({ maxOutputTokens }: RequestFrame): ReturnType<typeof contextBudget> {
    return contextBudget(this.#options.window(), maxOutputTokens);
  }

  async #truncate({ selection, tokens, estimated }: ContextView, excess: number): Promise<boolean> {
    const { store, sessionId, lease, emit } = this.#options;
    const results = selection.entries.flatMap((entry) => {
      const { message } = entry;
      if (entry.type !== 'message' || !isObject(message) || message['role'] !== 'toolResult') return [];
      const edit = selection.edits.get(entry);
      if (edit === null) return [];
      const text = contentText(edit ?? message['content']);
      return [{ id: entry.id, text, tokens: estimateEntryTokens(entry, edit) }];
    });
    // The plan counts in estimated tokens, the excess in the model's.
    const wanted = Math.ceil((excess * estimated) / Math.max(1, tokens));
    const { cuts, savedTokens } = planToolTruncation(results, wanted);
    if (cuts.length === 0) return false;
    const texts = new Map(results.map(({ id, text }) => [id, text]));
    const edits: NewEntry[] = cuts.map(({ id, maxTokens }) => {
      const text = truncateToolText(texts.get(id) ?? '', { maxTokens });
      return { type: 'context_edit', targetId: id, replacement: { content: [{ type: 'text', text }] } };
    });
    await store.append(sessionId, edits, { epoch: lease.epoch });
    emit({ type: 'context_truncated', results: cuts.length, tokensSaved: savedTokens });
    return true;
  }

  async #compact(
    view: ContextView,
    frame: RequestFrame,
    {
      reason,
      digest,
      maxTokens,
    }: { readonly reason: string; readonly digest: boolean; readonly maxTokens?: number },
  ): Promise<boolean> {
    const { emit, signal } = this.#options;
    const limits = compactionLimits(view, this.#options.window(), frame, maxTokens);
    const summarise = digest ? undefined : this.#options.summarise();
    const options: CompactOptions = {
      reason,
      signal,
      ...limits,
      standing: await this.#options.standing(),
      ...(summarise !== undefined && { summarise }),
    };
    const plan = planFor(view, options);
    if (plan === undefined) return false;
    const { counted: tokensBefore } = view;
    emit({ type: 'compaction_start', reason, tokensBefore });
    try {
      if (!digest) await this.#options.beforeCompaction(plan.covered, limits.maxInputTokens);
      if (await this.#cover(view, frame, options)) return true;
      const why = message('compaction.noGain');
      emit({ type: 'compaction_failed', tokensBefore, message: causeText(why), why });
      return false;
    } catch (error) {
      const failed = error instanceof RepriseError ? error : unexpected(error);
      emit({ type: 'compaction_failed', tokensBefore, message: failed.message, why: whyOf(failed) });
      throw error;
    }
  }

  async #cover(view: ContextView, frame: RequestFrame, options: CompactOptions): Promise<boolean> {
    const { store, sessionId, lease, emit, onSummary } = this.#options;
    const prepared = await prepareCompaction(view, options, { store, sessionId });
    if (prepared === undefined) return false;
    if (options.summarise !== undefined) onSummary(prepared.draft.method);
    const event = await commitCompaction({ store, sessionId, lease }, prepared, frame);
    if (event !== undefined) emit(event);
    return event !== undefined;
  }

  /** If nothing may be summarized, the oldest turns leave the context, so that a long conversation can continue. */
  async #hide(view: ContextView, frame: RequestFrame, maxTokens?: number): Promise<boolean> {
    if (frame.profile.persist !== 'memory') return false;
    const { store, sessionId, lease, emit, window } = this.#options;
    const { edits, tokensSaved } = hideOldest(view, compactionLimits(view, window(), frame, maxTokens));
    if (edits.length === 0) return false;
    await store.append(sessionId, edits, { epoch: lease.epoch });
    emit({ type: 'context_truncated', results: edits.length, tokensSaved });
    return true;
  }

  #overflow({ tokens, split }: ContextView, budget: number): RepriseError {
    const details = { tokens, budget, over: tokens - budget, split };
    return failure('CONTEXT_OVERFLOW', 'turn.tooLarge', { tokens, budget }, { details });
  }
}

/** The sizes for a compaction of this view. All but `maxTokens` and the window are in estimated tokens. */
export function compactionLimits(
  { estimates, tokens, estimated }: ContextView,
  window: number,
  { maxOutputTokens, profile }: RequestFrame,
  maxTokens?: number,
): CompactionMeasures {
  const { budget, keepTokens, summaryTokens } = contextBudget(window, maxOutputTokens);
  const scale = estimated / Math.max(1, tokens);
  const room = Math.floor(Math.min(budget, maxTokens ?? budget) * Math.min(1, scale));
  const most = profile.summaryTokens ?? Number.POSITIVE_INFINITY;
  const maxSummaryTokens = Math.max(64, Math.floor(Math.min(summaryTokens, room / 5, most)));
  const maxKeptTokens = Math.max(
    0,
    room - estimates.system - estimates.tools - Math.ceil(maxSummaryTokens * 1.5),
  );
  return {
    enabled: profile.persist !== 'memory',
    cut: profile.cut ?? { kind: 'keep-tokens', tokens: Math.min(keepTokens, maxKeptTokens) },
    maxKeptTokens,
    ...(profile.historyLimit !== undefined && { maxKeptMessages: profile.historyLimit }),
    maxSummaryTokens,
    maxInputTokens: Math.max(1000, Math.floor((budget - maxSummaryTokens) * Math.min(1, scale) * 0.9)),
  };
}
