import { pinsInForce } from '../../compaction/pins.ts';
import type { Calibration } from '../../context/calibration.ts';
import { measureContext, overheadTokens } from '../../context/calibration.ts';
import { countChars4 } from '../../context/chars4.ts';
import { estimateTextTokens } from '../../context/estimate.ts';
import { estimateEntryTokens, estimateToolTokens } from '../../context/estimate-message.ts';
import { limitHistoryTurns } from '../../context/limit-turns.ts';
import type { Model, ModelRequest, ModelTool, ThinkingLevel } from '../../models/model.ts';
import { loadBlobs } from '../../store/copy/load-blobs.ts';
import { hydrateBlobs } from '../../transcript/blobs.ts';
import type { Entry } from '../../transcript/entry.ts';
import { projectSelection } from '../../transcript/render/project.ts';
import { type Selection, selectContext } from '../../transcript/render/select.ts';
import { pathEntries } from '../../transcript/tree.ts';
import type { Profile } from '../agents/profiles.ts';
import { entriesIn } from '../history/read-history.ts';
import { sharedMessages } from './shared-messages.ts';
import type { TurnStore } from './turn-store.ts';

/** Everything a request is made of besides the history. */
export interface RequestFrame {
  readonly model: Model;
  readonly system: string;
  readonly tools: readonly ModelTool[];
  readonly maxOutputTokens: number;
  readonly temperature?: number | undefined;
  readonly profile: Profile;
  readonly calibration: Calibration | undefined;
  /** The session's own choice; unset: what its history says. */
  readonly thinkingLevel?: ThinkingLevel | undefined;
  /** Sends only what every provider takes, after this one refused a request without a reason we know. */
  readonly strict?: boolean;
  /** Only so many turns of the history are sent; unset: all. */
  readonly historyTurns?: number | undefined;
}

/** Where the tokens of the next request come from. */
export interface TokenSplit {
  readonly system: number;
  readonly tools: number;
  readonly summary: number;
  readonly history: number;
  /** The last user message and everything after it. */
  readonly newest: number;
  /** What the provider counts in every request beyond the parts above. */
  readonly overhead?: number;
}

/** The next request of a session as it would be sent now, and what it weighs. */
export interface ContextView {
  readonly entries: readonly Entry[];
  /** What the request is made of. */
  readonly selection: Selection;
  /** The same with the turns that `historyTurns` leaves out: a compaction covers them too. */
  readonly whole: Selection;
  readonly historyTurns?: number;
  readonly request: ModelRequest;
  /** Of `tokens`, which its parts add up to. */
  readonly split: TokenSplit;
  /** The parts by the estimator alone. */
  readonly estimates: TokenSplit;
  /** The last reported usage plus an estimate of what came after it. */
  readonly tokens: number;
  /** The same as the profile counts it: for its trigger and for people. */
  readonly counted: number;
  /** By the estimator alone, without calibration or margin: what usage is compared with. */
  readonly estimated: number;
  readonly leaf: string | null;
}

/** Reads the tail and makes the request: the same history gives the same bytes (J7). */
export async function viewContext(
  store: Pick<TurnStore, 'tail' | 'blob'>,
  sessionId: string,
  frame: RequestFrame,
): Promise<ContextView> {
  const { entries: stored } = await store.tail(sessionId);
  const entries = entriesIn(stored);
  const blobs = await loadBlobs(store, sessionId, entries);
  // With large parts put back in, a request is more than should stay in memory.
  return makeView(hydrateBlobs(entries, blobs), frame, { isShared: blobs.size === 0 });
}

export interface ViewOptions {
  /** Unset: the current leaf. */
  readonly leaf?: string | null | undefined;
  /** The next request will begin with the messages of this one. */
  readonly isShared?: boolean;
}

export function makeView(
  entries: readonly Entry[],
  frame: RequestFrame,
  { leaf, isShared = false }: ViewOptions = {},
): ContextView {
  const { model, system, tools, maxOutputTokens, temperature, profile, calibration, strict = false } = frame;
  const whole = selectContext(entries, { leaf });
  const selection = limitSelection(whole, entries, frame.historyTurns);
  const { messages: projected, thinkingLevel: before } = projectSelection(selection, {
    target: strict ? { ...model.target, strict } : model.target,
    carrier: profile.carrier,
  });
  const messages = isShared ? sharedMessages(selection.entries[0], projected) : projected;
  // With thinking on, providers want the thinking of earlier calls back.
  const thinkingLevel = strict ? undefined : (frame.thinkingLevel ?? (before as ThinkingLevel | undefined));
  const estimates = splitTokens(selection, system, tools);
  const fixedTokens = estimates.system + estimates.tools;
  const { tokens } = measureContext(selection, { fixedTokens, calibration });
  return {
    entries,
    selection,
    whole,
    ...(frame.historyTurns !== undefined && { historyTurns: frame.historyTurns }),
    request: {
      ...(system !== '' && { system }),
      messages,
      ...(tools.length > 0 && { tools }),
      maxOutputTokens,
      ...(temperature !== undefined && { temperature }),
      ...(thinkingLevel !== undefined && { thinkingLevel }),
    },
    estimates,
    split: fitSplit(estimates, { total: tokens, overhead: overheadTokens(calibration) }),
    tokens,
    counted: profile.estimator === 'chars4' ? countChars4(messages) : tokens,
    estimated: fixedTokens + estimates.summary + estimates.history + estimates.newest,
    leaf: leaf === undefined ? (pathEntries(entries).at(-1)?.id ?? null) : leaf,
  };
}

/** Pinned messages stay in every context, so the turns that hold one are sent whatever the limit. */
function limitSelection(
  whole: Selection,
  all: readonly Entry[],
  historyTurns: number | undefined,
): Selection {
  if (historyTurns === undefined) return whole;
  const pinned = new Set(pinsInForce(all).map(({ entryId }) => entryId));
  const entries = limitHistoryTurns(whole.entries, historyTurns, { isPinned: ({ id }) => pinned.has(id) });
  return entries.length === whole.entries.length ? whole : { ...whole, entries, isLimited: true };
}

/**
 * Scales the parts so that they add up to a total that a provider counted in part.
 * @param overhead How much of the total is in no part.
 */
export function fitSplit(
  { overhead: _, ...parts }: TokenSplit,
  { total, overhead }: { readonly total: number; readonly overhead: number },
): TokenSplit {
  const sum = Object.values(parts).reduce((tokens, part) => tokens + part, 0);
  const beyond = sum === 0 ? total : Math.min(overhead, total);
  const scale = sum === 0 ? 0 : (total - beyond) / sum;
  // Rounded as running sums, so that no token is lost between two parts.
  let before = 0;
  const scaled = Object.entries(parts).map(([name, part]) => {
    const from = Math.round(before * scale);
    before += part;
    return [name, Math.round(before * scale) - from] as const;
  });
  return { ...(Object.fromEntries(scaled) as typeof parts), ...(beyond > 0 && { overhead: beyond }) };
}

function splitTokens(
  { compaction, entries, edits }: Selection,
  system: string,
  tools: readonly ModelTool[],
): TokenSplit {
  let newestFrom = entries.length;
  for (let at = entries.length - 1; at >= 0; at--) {
    const message = entries[at]?.['message'] as { role?: unknown } | undefined;
    if (message?.role !== 'user') continue;
    newestFrom = at;
    break;
  }
  let history = 0;
  let newest = 0;
  for (const [at, entry] of entries.entries()) {
    const tokens = estimateEntryTokens(entry, edits.get(entry));
    if (at < newestFrom) history += tokens;
    else newest += tokens;
  }
  return {
    system: estimateTextTokens(system),
    tools: estimateToolTokens(tools),
    summary: compaction === undefined ? 0 : estimateEntryTokens(compaction),
    history,
    newest,
  };
}
