import { estimateTextTokens } from './estimate.ts';
import { estimateMessagesTokens, estimateToolTokens, type ToolSchema } from './estimate-message.ts';

const DEFAULT_MAX_OUTPUT = 8192;
const KEEP_TOKENS = 20_000;

export interface ContextBudget {
  readonly window: number;
  /** Tokens left free for the answer. */
  readonly reserve: number;
  /** Maximum number of tokens in a request. */
  readonly budget: number;
  /** How many tokens of the newest history a compaction keeps. */
  readonly keepTokens: number;
  /** Maximum number of tokens in a summary. */
  readonly summaryTokens: number;
}

/** The defaults scale down with the window, so that a small one is not filled by its reserves. */
export function contextBudget(windowTokens: number, maxOutput: number = DEFAULT_MAX_OUTPUT): ContextBudget {
  const reserve = Math.max(0, Math.min(maxOutput, Math.floor(windowTokens * 0.25)));
  const budget = windowTokens - reserve;
  return {
    window: windowTokens,
    reserve,
    budget,
    keepTokens: Math.min(KEEP_TOKENS, Math.floor(budget * 0.3)),
    summaryTokens: Math.floor(budget * 0.1),
  };
}

export interface SplitInput {
  readonly system?: string | undefined;
  readonly tools?: readonly ToolSchema[] | undefined;
  readonly summary?: string | undefined;
  /** All messages of the request, including the summary. */
  readonly messages: readonly object[];
  /** The index in `messages` at which the new message begins; unset without one. */
  readonly newFrom?: number | undefined;
}

/** The content of a window by category, for a context bar. The parts of `used` add up to it. */
export interface ContextSplit {
  readonly system: number;
  readonly tools: number;
  readonly summary: number;
  readonly history: number;
  readonly newMessage: number;
  readonly used: number;
  readonly reserve: number;
  readonly free: number;
  readonly window: number;
}

/** For programs with messages of their own. A session reports its context with `session.context()`. */
export function splitContext(input: SplitInput, { window: size, reserve }: ContextBudget): ContextSplit {
  const { system = '', tools = [], summary = '', messages, newFrom = messages.length } = input;
  const newMessage = estimateMessagesTokens(messages.slice(newFrom));
  const before = estimateMessagesTokens(messages.slice(0, newFrom));
  const summarised = Math.min(before, estimateTextTokens(summary));
  const parts = {
    system: estimateTextTokens(system),
    tools: estimateToolTokens(tools),
    summary: summarised,
    history: before - summarised,
    newMessage,
  };
  const used = parts.system + parts.tools + before + newMessage;
  return { ...parts, used, reserve, free: Math.max(0, size - reserve - used), window: size };
}
