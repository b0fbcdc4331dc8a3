import type { Entry } from '../transcript/entry.ts';
import { isObject } from '../transcript/json.ts';
import type { Selection } from '../transcript/render/select.ts';
import { estimateEntryTokens } from './estimate-message.ts';
import { beginsTurn } from './turn-start.ts';

export interface UsageReport {
  /** Estimated tokens of the whole request, before calibration. */
  readonly estimated: number;
  /** Prompt tokens that the provider counted, including cached ones. */
  readonly reported: number;
}

/**
 * What reported usage shows about one model: it counts `overhead + factor * estimated` tokens. A plain object, so
 * that it can be stored in a file.
 */
export interface Calibration {
  /** Tokens of this model per estimated token. */
  readonly factor: number;
  /** Tokens that every request has beyond the estimate, such as a prompt that a proxy adds. */
  readonly overhead?: number;
  /** Number of reports. */
  readonly samples: number;
  /** The newest reports; the next calibration is fitted to them. */
  readonly reports?: readonly UsageReport[];
}

/** Estimates are raised by this factor while the model's own counts are unknown. */
export const SAFETY_MARGIN = 1.2;

const UNCALIBRATED: Calibration = { factor: 1, samples: 0 };
/** From this many reports on the margin is no longer needed, except for requests much larger than all of them. */
const ENOUGH_SAMPLES = 3;
const KNOWN_RANGE = 4;
const MAX_REPORTS = 32;
/** A factor outside these limits is a wrong report, not another tokenizer. */
const MIN_FACTOR = 0.5;
const MAX_FACTOR = 3;
const MIN_TOKENS = 200;
const MAX_TOKENS = 1e9;

/** Learns from one report. Invalid reports are ignored, and outliers have little influence. */
export function calibrate(before: Calibration | undefined, report: UsageReport): Calibration {
  const known = checked(before);
  const { estimated, reported } = report;
  if (![estimated, reported].every((tokens) => tokens >= MIN_TOKENS && tokens <= MAX_TOKENS)) return known;
  const reports = [...(known.reports ?? []), { estimated, reported }].slice(-MAX_REPORTS);
  return { ...fitLine(reports), samples: known.samples + 1, reports };
}

/** The calibrated estimate for a part of a request, with the margin while the model is not known well. */
export function calibratedTokens(estimated: number, calibration?: Calibration): number {
  return Math.ceil(estimated * checked(calibration).factor * marginFor(estimated, calibration));
}

function marginFor(estimated: number, calibration: Calibration | undefined): number {
  const { samples, reports = [] } = checked(calibration);
  const largest = Math.max(0, ...reports.map((report) => report.estimated));
  const isKnown = samples >= ENOUGH_SAMPLES && (largest === 0 || estimated <= largest * KNOWN_RANGE);
  return isKnown ? 1 : SAFETY_MARGIN;
}

/** Usual deviation of a tokenizer from the estimator, as a factor, and usual overhead in tokens. */
const FACTOR_SPREAD = 0.3;
const OVERHEAD_SPREAD = 2000;
/** A larger factor is unlikely for a tokenizer: the excess counts as overhead. */
const LIKELY_MAX_FACTOR = 2;
/**
 * Usual error of an estimate, as a share of it and in tokens; a report that is off by a multiple of that is an
 * outlier.
 */
const NOISE_SHARE = 0.05;
const NOISE_TOKENS = 150;
const OUTLIER_FROM = 2;
const ROUNDS = 20;

/**
 * Fits a line through the reports by least squares, in which outliers count little (Huber weights). Reports of a
 * single size cannot separate overhead from factor, so both are pulled to their usual values: small requests mostly
 * determine the overhead, large ones the factor. A single factor would apply the overhead of small requests to large
 * ones.
 */
function fitLine(reports: readonly UsageReport[]): { readonly factor: number; readonly overhead: number } {
  const beyond = reports.map(({ estimated, reported }) => reported - LIKELY_MAX_FACTOR * estimated);
  const line = fitLineAround(reports, Math.max(0, median(beyond)), OVERHEAD_SPREAD);
  // A negative overhead would hide text, so the line then starts at zero.
  const { factor, overhead } = line.overhead < 0 ? fitLineAround(reports, 0, 1) : line;
  const most = Math.min(...reports.map(({ reported }) => reported));
  return { factor: bounded(factor), overhead: Math.max(0, Math.min(overhead, most)) };
}

function fitLineAround(
  reports: readonly UsageReport[],
  usualOverhead: number,
  spread: number,
): { readonly factor: number; readonly overhead: number } {
  let overhead = usualOverhead;
  let factor = 1;
  let weights = reports.map(() => 1);
  for (let round = 0; round < ROUNDS; round++) {
    // The normal equations of both unknowns, with the usual values as one more report each.
    let a = spread ** -2;
    let b = 0;
    let c = FACTOR_SPREAD ** -2;
    let d = usualOverhead * a;
    let e = c;
    for (const [i, { estimated, reported }] of reports.entries()) {
      const weight = (weights[i] ?? 0) / noise(estimated) ** 2;
      a += weight;
      b += weight * estimated;
      c += weight * estimated ** 2;
      d += weight * reported;
      e += weight * estimated * reported;
    }
    const determinant = a * c - b ** 2;
    overhead = (c * d - b * e) / determinant;
    factor = (a * e - b * d) / determinant;
    weights = reports.map(({ estimated, reported }) => {
      const off = Math.abs(reported - overhead - factor * estimated) / noise(estimated);
      return Math.min(1, OUTLIER_FROM / off);
    });
  }
  return { factor, overhead };
}

function noise(estimated: number): number {
  return NOISE_TOKENS + NOISE_SHARE * estimated;
}

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor((values.length - 1) / 2)] ?? 0;
}

/** A stored calibration may have been edited by hand or written by another version. */
function checked(kept: Calibration | undefined): Calibration {
  if (kept === undefined || !(kept.factor > 0) || !(kept.samples > 0)) return UNCALIBRATED;
  const { overhead = 0, reports = [] } = kept;
  return {
    factor: bounded(kept.factor),
    overhead: overhead > 0 && overhead <= MAX_TOKENS ? overhead : 0,
    samples: Math.floor(kept.samples),
    reports: Array.isArray(reports) ? reports : [],
  };
}

function bounded(factor: number): number {
  return Math.max(MIN_FACTOR, Math.min(MAX_FACTOR, factor));
}

/** Tokens that a request of this model has beyond its calibrated parts. */
export function overheadTokens(calibration?: Calibration): number {
  return Math.round(checked(calibration).overhead ?? 0);
}

/** The size of a request with this estimate, as long as no usage was reported for a part of it. */
export function estimatedContext(estimated: number, calibration?: Calibration): number {
  return overheadTokens(calibration) + calibratedTokens(estimated, calibration);
}

export interface ReportedUsage {
  /** The index in the selection of the answer that reported the usage. */
  readonly index: number;
  /** Its prompt and its answer: the start of the next request. */
  readonly tokens: number;
}

/**
 * The newest usage that still applies to the next request: of the model in use, not of an interrupted turn, and
 * without later rewrites. Edits have no position in the selection, so with any active edit no usage is trusted.
 */
export function lastUsage({
  compaction,
  entries,
  edits,
  model,
  isLimited,
}: Selection): ReportedUsage | undefined {
  if (edits.size > 0) return undefined;
  // Kept entries from before the compaction belong to another request.
  const afterSummary =
    compaction === undefined ? 0 : entries.findIndex(({ parentId }) => parentId === compaction.id);
  if (afterSummary === -1) return undefined;
  // Each new turn removes an old one from a limited history, so the usage of earlier turns belongs to other requests.
  const first = isLimited === true ? Math.max(afterSummary, entries.findLastIndex(beginsTurn)) : afterSummary;
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
  /** The part that a provider counted. */
  readonly reported: number;
  /** How much of `tokens` is the safety margin of the estimate. */
  readonly margin: number;
}

export interface MeasureOptions {
  /** Estimate of the system prompt and the tools, needed if no reported usage covers them. */
  readonly fixedTokens?: number;
  readonly calibration?: Calibration | undefined;
}

/**
 * The size of the next request with this selection: the last reported usage plus an estimate of what came after it.
 */
export function measureContext(
  selection: Selection,
  { fixedTokens = 0, calibration }: MeasureOptions = {},
): ContextMeasure {
  const { entries, edits, compaction } = selection;
  const usage = lastUsage(selection);
  let estimated = 0;
  let overhead = 0;
  if (usage === undefined) {
    estimated = fixedTokens;
    overhead = overheadTokens(calibration);
    if (compaction !== undefined) estimated += estimateEntryTokens(compaction);
  }
  for (const entry of usage === undefined ? entries : entries.slice(usage.index + 1)) {
    estimated += estimateEntryTokens(entry, edits.get(entry));
  }
  const reported = usage?.tokens ?? 0;
  const calibrated = calibratedTokens(estimated, calibration);
  const margin = calibrated - Math.ceil(calibrated / marginFor(estimated, calibration));
  return { tokens: reported + overhead + calibrated, reported, margin };
}
