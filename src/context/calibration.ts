import type { Entry } from '../transcript/entry.ts';
import { isObject } from '../transcript/json.ts';
import type { Selection } from '../transcript/select.ts';
import { estimateEntryTokens } from './estimate-message.ts';

/**
 * What reported usage has taught about one model: how many of its tokens one estimated token is. A plain object,
 * so that it can be kept in a file and read back.
 */
export interface Calibration {
  readonly factor: number;
  readonly samples: number;
}

/** What an estimate is raised by as long as the model's own counts are not known. */
export const SAFETY_MARGIN = 1.2;

const UNCALIBRATED: Calibration = { factor: 1, samples: 0 };
/** From so many reports on the margin is no longer needed. */
const ENOUGH_SAMPLES = 3;
/** A tokenizer beyond this is not another tokenizer but a wrong report. */
const MIN_FACTOR = 0.5;
const MAX_FACTOR = 3;
/** Below this the framing of a request weighs more than its text. */
const MIN_TOKENS = 200;
/** The weight of a new report never falls below this, so a model that changes is learned anew. */
const MIN_WEIGHT = 0.1;
/** One report moves the factor by as much as it is this far off, however far off it is. */
const MAX_STEP: number = Math.log(1.5);

export interface UsageReport {
  /** Estimated tokens of the whole request, before any factor or margin. */
  readonly estimated: number;
  /** Prompt tokens the provider counted, cached ones included. */
  readonly reported: number;
}

/** Learns from one report. Nonsense teaches nothing, an outlier little. */
export function calibrate(
  before: Calibration | undefined,
  { estimated, reported }: UsageReport,
): Calibration {
  const { factor, samples } = checked(before);
  if (![estimated, reported].every((tokens) => Number.isFinite(tokens) && tokens >= MIN_TOKENS)) {
    return { factor, samples };
  }
  const off = Math.log(reported / estimated) - Math.log(factor);
  // The first report has nothing to be compared with, so only the bounds hold it.
  const step = samples === 0 ? off : Math.max(-MAX_STEP, Math.min(MAX_STEP, off));
  const moved = factor * Math.exp(step * Math.max(MIN_WEIGHT, 1 / (samples + 1)));
  return { factor: bounded(moved), samples: samples + 1 };
}

/** What an estimate means for this model, with the margin while it is not known well. */
export function calibratedTokens(estimated: number, calibration?: Calibration): number {
  const { factor, samples } = checked(calibration);
  return Math.ceil(estimated * factor * (samples < ENOUGH_SAMPLES ? SAFETY_MARGIN : 1));
}

/** A kept calibration may have been edited by hand or written by another version. */
function checked(kept: Calibration | undefined): Calibration {
  if (kept === undefined || !(kept.factor > 0) || !(kept.samples > 0)) return UNCALIBRATED;
  return { factor: bounded(kept.factor), samples: Math.floor(kept.samples) };
}

function bounded(factor: number): number {
  return Math.max(MIN_FACTOR, Math.min(MAX_FACTOR, factor));
}

export interface ReportedUsage {
  /** Where in the selection the answer stands whose usage this is. */
  readonly index: number;
  /** Its prompt and its answer: what the next request starts with. */
  readonly tokens: number;
}

/**
 * The newest usage that still says something about the next request: of the model in use, not of a broken turn,
 * and with nothing rewritten since. Edits have no place in the selection, so with any in force none is trusted.
 */
export function lastUsage({ compaction, entries, edits, model }: Selection): ReportedUsage | undefined {
  if (edits.size > 0) return undefined;
  // Kept entries from before the compaction were answered to another request.
  const first =
    compaction === undefined ? 0 : entries.findIndex(({ parentId }) => parentId === compaction.id);
  if (first === -1) return undefined;
  for (let index = entries.length - 1; index >= first; index--) {
    const entry = entries[index];
    const tokens = entry === undefined ? undefined : usageOf(entry, model);
    if (tokens !== undefined) return { index, tokens };
  }
  return undefined;
}

function usageOf({ type, message }: Entry, model: Selection['model']): number | undefined {
  if (type !== 'message' || !isObject(message) || message['role'] !== 'assistant') return undefined;
  const { usage, stopReason, provider, model: modelId } = message;
  if (!isObject(usage) || stopReason === 'aborted' || stopReason === 'error') return undefined;
  if (provider !== model?.provider || modelId !== model?.modelId) return undefined;
  const { input, output, cacheRead, cacheWrite } = usage;
  let tokens = 0;
  for (const part of [input, output, cacheRead, cacheWrite]) {
    if (typeof part === 'number' && part > 0 && Number.isFinite(part)) tokens += part;
  }
  return tokens > 0 ? tokens : undefined;
}

export interface ContextMeasure {
  readonly tokens: number;
  /** The part of it that a provider counted. */
  readonly reported: number;
}

export interface MeasureOptions {
  /** Estimate of the system prompt and the tools, needed where no usage covers them. */
  readonly fixedTokens?: number;
  readonly calibration?: Calibration | undefined;
}

/** What the next request of this selection holds: the last reported usage plus an estimate of what came after it. */
export function measureContext(
  selection: Selection,
  { fixedTokens = 0, calibration }: MeasureOptions = {},
): ContextMeasure {
  const { entries, edits, compaction } = selection;
  const usage = lastUsage(selection);
  let estimated = 0;
  if (usage === undefined) {
    estimated = fixedTokens;
    if (compaction !== undefined) estimated += estimateEntryTokens(compaction);
  }
  for (const entry of usage === undefined ? entries : entries.slice(usage.index + 1)) {
    estimated += estimateEntryTokens(entry, edits.get(entry));
  }
  const reported = usage?.tokens ?? 0;
  return { tokens: reported + calibratedTokens(estimated, calibration), reported };
}
