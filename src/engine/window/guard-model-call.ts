import { makeCompaction } from '../../compaction/make-compaction.ts';
import type { Summarise } from '../../compaction/summarize.ts';
import { estimateTextTokens } from '../../context/estimate.ts';
import { estimateMessagesTokens } from '../../context/estimate-message.ts';
import { truncateToolText } from '../../context/truncate.ts';
import type { OverflowNumbers } from '../../models/overflow.ts';
import { contentText } from '../../transcript/content.ts';
import { isObject, type JsonObject } from '../../transcript/json.ts';
import { SUMMARY_CARRIERS } from '../../transcript/render/carrier.ts';
import { overflowOf } from '../turn/call-overflow.ts';
import {
  type ApiMessage,
  carriesResults,
  isInstruction,
  readApiMessages,
  shortenToolResults,
} from './api-messages.ts';
import { findMessageCut } from './message-cut.ts';

export interface GuardModelCallOptions<M extends ApiMessage, R> {
  /** The caller's history, in the format of the Anthropic or the OpenAI API. */
  readonly messages: M[];
  /** The caller's own client. Called at most three times. */
  readonly call: (messages: M[]) => Promise<R> | R;
  /** Asks a model for the summary. If unset or if it fails, a digest is made without a model. */
  readonly summarise?: Summarise;
  readonly maxSummaryTokens?: number;
  /** The model's window, for clients whose errors do not contain it; it limits the input of `summarise`. */
  readonly contextTokens?: number;
  /** Called before each further call. */
  readonly onStep?: (step: GuardStep) => void;
  readonly signal?: AbortSignal;
}

export interface GuardStep {
  readonly step: 'truncated' | 'compacted';
  /** Estimated. */
  readonly tokensBefore: number;
  readonly tokensAfter: number;
}

const MAX_SUMMARY_TOKENS = 2048;
const MIN_INPUT_TOKENS = 1000;
const [CARRIED, UNDERSTOOD] = SUMMARY_CARRIERS['user+assistant'].map(({ text }) => text);
const HEADING = String(CARRIED).replace('{summary}', '');
const ASK_HEADING = '\n\n[The request being worked on]\n';

/**
 * Makes one model call of a custom loop that survives a full context window: calls; on overflow shortens large tool
 * results and calls again; on another overflow replaces the oldest messages with a summary and calls once more. If
 * such a call succeeds, `messages` (the same array) contains what was sent. Any other failure, and the last overflow,
 * is thrown unchanged, and `messages` is unchanged.
 */
export async function guardModelCall<M extends ApiMessage, R>(
  options: GuardModelCallOptions<M, R>,
): Promise<R> {
  const { messages, call } = options;
  const ladder: GuardStep['step'][] = ['truncated', 'compacted'];
  let current = messages;
  for (;;) {
    try {
      const result = await call(current);
      if (current !== messages) replace(messages, current);
      return result;
    } catch (error) {
      const overflow = overflowOf(error);
      if (overflow === undefined) throw error;
      const smaller = await makeSmaller(current, ladder, overflow, options);
      if (smaller === undefined) throw error;
      current = smaller;
    }
  }
}

/**
 * Replaces in place, because the caller's loop holds this array. One by one, because the number of arguments is
 * limited.
 */
function replace<M>(messages: M[], by: readonly M[]): void {
  messages.length = 0;
  for (const message of by) messages.push(message);
}

/** The next step that makes the request smaller; a step without effect is no reason to call again. */
async function makeSmaller<M extends ApiMessage, R>(
  messages: readonly M[],
  ladder: GuardStep['step'][],
  overflow: OverflowNumbers,
  options: GuardModelCallOptions<M, R>,
): Promise<M[] | undefined> {
  const tokensBefore = estimateMessagesTokens(messages);
  for (let step = ladder.shift(); step !== undefined; step = ladder.shift()) {
    const made =
      step === 'truncated'
        ? shortenToolResults(messages, excessOf(tokensBefore, overflow))
        : await compactMessages(messages, overflow, options);
    if (made === undefined) continue;
    const tokensAfter = estimateMessagesTokens(made);
    if (tokensAfter >= tokensBefore || made.length > messages.length) continue;
    options.onStep?.({ step, tokensBefore, tokensAfter });
    return made;
  }
  return undefined;
}

/** A refused request is assumed to be at least a third too large, because there are few attempts. */
function excessOf(tokens: number, { limit, actual }: OverflowNumbers): number {
  const share = limit === undefined || actual === undefined || actual <= limit ? 0 : 1 - limit / actual;
  return Math.ceil(tokens * Math.max(share, 1 / 3));
}

async function compactMessages<M extends ApiMessage, R>(
  messages: readonly M[],
  { limit }: OverflowNumbers,
  options: GuardModelCallOptions<M, R>,
): Promise<M[] | undefined> {
  const { summarise, signal, contextTokens, maxSummaryTokens: asked = MAX_SUMMARY_TOKENS } = options;
  const read = readApiMessages(messages);
  const cut = findMessageCut(messages, read);
  const firstKept = cut === undefined ? undefined : messages[cut];
  if (cut === undefined || firstKept === undefined) return undefined;
  const gone = messages.slice(0, cut);
  const carried = carriedSummary(gone);
  const covered = gone.slice(carried.end).filter((message) => !isInstruction(message));
  const coveredTokens = estimateMessagesTokens(covered);
  const summaryTokens = estimateTextTokens(carried.summary);
  const maxSummaryTokens = Math.max(64, Math.min(asked, Math.floor((coveredTokens + summaryTokens) / 2)));
  const splitsTurn = firstKept.role === 'assistant';
  const draft = await makeCompaction(
    {
      covered: read.entries.slice(read.begins[carried.end] ?? 0, read.begins[cut]),
      kept: [],
      firstKeptEntryId: '',
      previousSummary: carried.summary,
      coveredTokens,
      keptTokens: 0,
      summaryTokens,
      splitsTurn,
    },
    {
      reason: 'overflow',
      maxSummaryTokens,
      maxInputTokens: Math.max(
        MIN_INPUT_TOKENS,
        Math.floor((limit ?? contextTokens ?? estimateMessagesTokens(messages)) / 2),
      ),
      textTokens: estimateTextTokens,
      ...(summarise !== undefined && { summarise }),
      ...(signal !== undefined && { signal }),
    },
  );
  if (draft === undefined) return undefined;
  // Inside a turn the assistant speaks next, so no user text is added, and the current request stays.
  const ask = splitsTurn ? openAsk(covered, carried.ask) : '';
  const kept = ask === '' ? '' : ASK_HEADING + truncateToolText(ask, { maxTokens: asked });
  const lines = [
    { role: 'user', content: HEADING + draft.summary + kept },
    ...(splitsTurn ? [] : [{ role: 'assistant', content: UNDERSTOOD }]),
  ];
  // Both APIs accept these two fields, so the lines are messages of the caller's type.
  return [...gone.filter(isInstruction), ...(lines as unknown as M[]), ...messages.slice(cut)];
}

interface Carried {
  readonly summary: string;
  /** The request that was being worked on when the summary was made. */
  readonly ask: string;
  /** The index at which the messages after it begin. */
  readonly end: number;
}

/** The summary of an earlier overflow: it is carried over as a summary, not summarized as a message. */
function carriedSummary(messages: readonly ApiMessage[]): Carried {
  const at = messages.findIndex((message) => !isInstruction(message));
  const text = textOf(messages[at]);
  if (!text.startsWith(HEADING)) return { summary: '', ask: '', end: 0 };
  const [summary = '', ...ask] = text.slice(HEADING.length).split(ASK_HEADING);
  const end = textOf(messages[at + 1]) === UNDERSTOOD ? at + 2 : at + 1;
  return { summary, ask: ask.join(ASK_HEADING), end };
}

/** The topic of the last turn: the message that began it, and the user messages during its tool calls. */
function openAsk(covered: readonly ApiMessage[], before: string): string {
  const start = covered.findLastIndex((message) => message.role === 'user' && !carriesResults(message));
  const said = covered
    .slice(Math.max(0, start))
    .filter(({ role }) => role === 'user')
    .map(textOf);
  return [start === -1 ? before : '', ...said].filter((text) => text.trim() !== '').join('\n\n');
}

function textOf(message: ApiMessage | undefined): string {
  return isObject(message) ? contentText((message as JsonObject)['content']) : '';
}
