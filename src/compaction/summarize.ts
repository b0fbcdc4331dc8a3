import { type CountOptions, chunkMessagesByMaxTokens, splitMessagesByTokenShare } from '../context/chunk.ts';
import { failure } from '../messages/failure.ts';
import { digest } from './digest.ts';
import { mergePrompt, SUMMARY_SYSTEM, summaryPrompt } from './prompts.ts';
import { startsTurn } from './safe-cut.ts';
import { type SpokenEntry, writeTranscript } from './speak.ts';

export interface SummaryRequest {
  readonly system: string;
  readonly prompt: string;
  readonly maxTokens: number;
}

/** Asks a model for text. It may throw, hang until its signal aborts, or return no text or far too much. */
export type Summarise = (
  request: SummaryRequest,
  options: { readonly signal?: AbortSignal },
) => Promise<string>;

export interface SummarizeOptions {
  readonly spoken: readonly SpokenEntry[];
  readonly summarise: Summarise;
  readonly previousSummary?: string;
  readonly focus?: string;
  readonly maxSummaryTokens: number;
  /** Limit of one request, including prompt and previous summary. */
  readonly maxInputTokens: number;
  readonly textTokens: (text: string) => number;
  /** The minimum number of parts for a history that is too large and has at least `minMessagesForSplit` messages. */
  readonly parts?: number;
  readonly minMessagesForSplit?: number;
  readonly signal?: AbortSignal;
}

export type SummaryMethod = 'model' | 'staged' | 'partial' | 'digest';

export interface Summary {
  readonly text: string;
  /** `partial`: some parts are digests, because the model failed on them. */
  readonly method: SummaryMethod;
  /** Why the model failed, at least for some parts. */
  readonly failure?: string;
}

const PROMPT_TOKENS = 600;
/** An answer longer than this many times the requested size is not a summary. */
const RAMBLE_FACTOR = 2;
/** After this many failures the model is not called again: every call may take a whole timeout. */
const MAX_FAILURES = 2;

/**
 * For programs that handle model failures themselves: like `summarizeWithFallback`, which the engine calls, but
 * throws the model's errors. Summarizes in one request if the history fits, otherwise in parts that are merged.
 */
export async function summarizeInStages(options: SummarizeOptions): Promise<string> {
  const { summary, failure } = await inStages({ ...options, digestParts: false });
  if (failure !== undefined) throw failure;
  return summary;
}

/** Summarizes, and fails only if aborted: if the model fails, a digest replaces its summary. */
export async function summarizeWithFallback(options: SummarizeOptions): Promise<Summary> {
  const { spoken, previousSummary = '', maxSummaryTokens, textTokens } = options;
  try {
    const { summary, parts, failure } = await inStages({ ...options, digestParts: true });
    if (failure === undefined) return { text: summary, method: parts > 1 ? 'staged' : 'model' };
    return { text: summary, method: 'partial', failure: failure.message };
  } catch (error) {
    if (options.signal?.aborted === true) throw error;
    const text = digest(spoken, { previousSummary, maxTokens: maxSummaryTokens, textTokens });
    return { text, method: 'digest', failure: error instanceof Error ? error.message : String(error) };
  }
}

interface Staged {
  readonly summary: string;
  readonly parts: number;
  readonly failure?: Error;
}

async function inStages(options: SummarizeOptions & { readonly digestParts: boolean }): Promise<Staged> {
  const { spoken, previousSummary = '', focus, maxSummaryTokens, textTokens, digestParts } = options;
  const asked = { previousSummary, maxTokens: maxSummaryTokens, ...(focus !== undefined && { focus }) };
  const room = options.maxInputTokens - PROMPT_TOKENS - textTokens(previousSummary) - textTokens(focus ?? '');
  const chunks = chunkSpoken(spoken, { ...options, room });
  const [only] = chunks;
  if (only === undefined || chunks.length === 1) {
    const prompt = summaryPrompt({ ...asked, transcript: writeTranscript(only ?? []) });
    return { summary: await ask(prompt, options), parts: 1 };
  }
  const texts: string[] = [];
  const failures: Error[] = [];
  for (const chunk of chunks) {
    const transcript = writeTranscript(chunk);
    const text =
      failures.length < MAX_FAILURES
        ? await ask(summaryPrompt({ ...asked, previousSummary: '', transcript }), options).catch((error) =>
            keepFailure(error, failures, options),
          )
        : undefined;
    if (text === undefined && !digestParts) throw failures[0];
    texts.push(text ?? digest(chunk, { previousSummary: '', maxTokens: maxSummaryTokens, textTokens }));
  }
  if (failures.length >= MAX_FAILURES) throw failures[0];
  const merged = await mergeTexts(texts, { ...options, room });
  return {
    summary: merged,
    parts: chunks.length,
    ...(failures[0] !== undefined && { failure: failures[0] }),
  };
}

function keepFailure(error: unknown, failures: Error[], { signal }: SummarizeOptions): undefined {
  if (signal?.aborted === true) throw error;
  failures.push(error instanceof Error ? error : new Error(String(error)));
  return undefined;
}

/** Merges texts in rounds; each round fits into one request and leaves fewer texts. */
async function mergeTexts(
  texts: readonly string[],
  options: SummarizeOptions & { room: number },
): Promise<string> {
  const { previousSummary = '', focus, maxSummaryTokens, textTokens, room } = options;
  const asked = { maxTokens: maxSummaryTokens, ...(focus !== undefined && { focus }) };
  let left = [...texts];
  for (;;) {
    const sizes = left.map(textTokens);
    let count = 0;
    for (let sum = 0; count < left.length; count++) {
      sum += sizes[count] ?? 0;
      if (sum > room && count >= 2) break;
    }
    const isLast = count === left.length;
    const prompt = mergePrompt(left.slice(0, count), {
      ...asked,
      previousSummary: isLast ? previousSummary : '',
    });
    const merged = await ask(prompt, options);
    if (isLast) return merged;
    left = [merged, ...left.slice(count)];
  }
}

async function ask(prompt: string, options: SummarizeOptions): Promise<string> {
  const { summarise, maxSummaryTokens, textTokens, signal } = options;
  signal?.throwIfAborted();
  const request = { system: SUMMARY_SYSTEM, prompt, maxTokens: maxSummaryTokens };
  const text = (await summarise(request, signal === undefined ? {} : { signal })).trim();
  if (text === '') throw failure('MODEL_FAILED', 'summary.empty');
  // Check the length first: counting the tokens of ten megabytes would be a waste.
  const isTooLong = text.length > maxSummaryTokens * 40;
  if (isTooLong || textTokens(text) > maxSummaryTokens * RAMBLE_FACTOR)
    throw failure('MODEL_FAILED', 'summary.tooLong', { maxTokens: maxSummaryTokens });
  return text;
}

/**
 * Splits entries into chunks that fit a request, in order, at turn starts unless a single turn is too large. A
 * message that is too large is mentioned instead of quoted.
 */
function chunkSpoken(
  spoken: readonly SpokenEntry[],
  options: SummarizeOptions & { readonly room: number },
): SpokenEntry[][] {
  const { textTokens, parts = 2, minMessagesForSplit = 4 } = options;
  const room = Math.max(200, options.room);
  const sized = spoken.map((entry) => {
    const tokens = textTokens(entry.text) + 4;
    return tokens <= room / 2 ? { entry, tokens } : { entry: nameOnly(entry, tokens), tokens: 60 };
  });
  const counting: CountOptions<(typeof sized)[number]> = {
    tokensOf: ({ tokens }) => tokens,
    startsTurn: ({ entry }) => startsTurn(entry.entry),
  };
  const total = sized.reduce((sum, { tokens }) => sum + tokens, 0);
  const isSplit = total > room && sized.length >= minMessagesForSplit;
  const shares = isSplit ? splitMessagesByTokenShare(sized, parts, counting) : [sized];
  return shares
    .flatMap((share) => chunkMessagesByMaxTokens(share, room, counting))
    .map((chunk) => chunk.map(({ entry }) => entry));
}

function nameOnly(entry: SpokenEntry, tokens: number): SpokenEntry {
  const start = [...entry.text.slice(0, 120)].slice(0, 100).join('').replace(/\s+/g, ' ');
  return {
    ...entry,
    text: `[a message of about ${tokens} tokens, too large to be told; it starts: ${start}]`,
  };
}
