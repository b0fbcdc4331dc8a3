import { type ContentBlock, readBlocks } from '../content.ts';
import type { Entry } from '../entry.ts';
import { isObject, type JsonObject } from '../json.ts';
import { type CarrierLine, carryBranchSummary, carrySummary, SUMMARY_CARRIERS } from '../render/carrier.ts';
import { HIDDEN_RESULT, shellText } from '../render/project.ts';
import { buildTree, type EntryTree, ROOT } from '../tree.ts';
import {
  boundary,
  type Call,
  callsIn,
  type HistoryRuns,
  historyRuns,
  isHoisted,
  isSameToken,
  type Run,
  resultText,
  type Token,
  textTokens,
  tokensOf,
} from './history-runs.ts';
import type { ReadMessage } from './read-messages.ts';

export interface MergePlan {
  /** The entry that the new messages follow; null is before the first entry. */
  readonly at: string | null;
  /** The conversation is there now; otherwise the new messages become a branch. */
  readonly isHere: boolean;
  /** The history starts with a summary of the conversation up to `at`, and here there is no compaction with it. */
  readonly compaction?: NewCompaction;
  /** In order; empty if the session has the whole history. */
  readonly messages: readonly ReadMessage[];
}

export interface NewCompaction {
  readonly summary: string;
  /** The first entry that it keeps; unset: none. */
  readonly firstKeptEntryId?: string;
}

/** How much of a history was found on the way to an entry. */
interface Found {
  readonly run: number;
  readonly token: number;
  readonly call: number;
  readonly answered: ReadonlySet<number>;
  /** The calls that can still get a result: those of the last answer, by stored id and position in the run. */
  readonly round: readonly { readonly id: string; readonly at: number }[];
}

interface Match extends Found {
  readonly at: number;
  readonly compaction?: NewCompaction;
}

const NOTHING: Found = { run: 0, token: 0, call: 0, answered: new Set(), round: [] };
/** A shorter answer can be part of any message by chance. */
const SHORTEST_SUMMARY_CHARS = 80;

/**
 * Finds the messages of a history that a session does not have. The history is searched on every branch and behind
 * every compaction; the branch with the longest common start counts, and of several the current one.
 */
export function planMerge(entries: readonly Entry[], history: readonly ReadMessage[]): MergePlan {
  return new Matcher(entries, historyRuns(history)).plan();
}

class Matcher {
  readonly #tree: EntryTree;
  readonly #runs: readonly Run[];
  readonly #history: HistoryRuns;
  readonly #children = new Map<number, number[]>();
  readonly #edits = new Map<number, unknown[]>();

  constructor(entries: readonly Entry[], history: HistoryRuns) {
    this.#tree = buildTree(entries);
    this.#history = history;
    this.#runs = history.runs;
    for (const [at, parent] of this.#tree.parents.entries()) {
      if (parent < ROOT) continue;
      const children = this.#children.get(parent);
      if (children === undefined) this.#children.set(parent, [at]);
      else children.push(at);
    }
    for (const [at, { type, targetId, replacement }] of entries.entries()) {
      const target =
        type === 'context_edit' && typeof targetId === 'string' ? this.#tree.find(targetId, at) : undefined;
      if (target !== undefined) this.#edits.set(target, [...(this.#edits.get(target) ?? []), replacement]);
    }
  }

  plan(): MergePlan {
    const whole = this.#search({ ...NOTHING, at: ROOT });
    if (this.#isDone(whole)) return this.#planAt(whole);
    const starts = this.#compacted();
    const { leaf } = this.#tree;
    const best = starts.reduce((found, start) => better(found, this.#search(start), leaf), whole);
    // A history that starts with a summary has at most first messages of the user in common with the whole one.
    const isUnknown = best.run === 0 && starts.every(({ token }) => token === 0);
    return this.#planAt((isUnknown ? this.#freshSummary() : undefined) ?? best);
  }

  /** Every entry below a position that the history agrees with; the entries are not visited recursively. */
  #search(start: Match): Match {
    let best = start;
    // What would follow a compaction that is not there yet is not below it.
    const open: Match[] = start.compaction === undefined ? [start] : [];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      if (this.#isBoundary(next)) best = better(best, next, this.#tree.leaf);
      for (const child of this.#children.get(next.at) ?? []) {
        for (const found of this.#pass(next, child)) open.push({ ...found, at: child });
      }
    }
    return best;
  }

  /** @returns nothing if the history says something else here. */
  #pass(found: Found, at: number): readonly Found[] {
    const entry = this.#tree.entries[at];
    if (entry === undefined) return [found];
    const edits = this.#edits.get(at) ?? [];
    const message = entry.type === 'message' && isObject(entry['message']) ? entry['message'] : {};
    const { role, toolCallId } = message;
    if (role === 'toolResult') return listOf(this.#passResult(found, toolCallId, message['content'], edits));
    const blocks = contentOf(entry);
    const isNote = role !== 'user' && role !== 'assistant';
    if (isNote && blocks.length === 0) return [found];
    const edited = edits
      .toReversed()
      .filter(isObject)
      .map(({ content }) => readBlocks(content));
    const passed = [...edited, blocks].flatMap((each) =>
      role === 'assistant'
        ? possibleCalls(message, each).flatMap((calls) =>
            this.#consume(
              found,
              role,
              tokensOf(each).filter((token) => 'text' in token),
              calls,
            ),
          )
        : this.#consume(found, 'user', tokensOf(each), []),
    );
    if (passed.length > 0) return passed;
    // Other programs know nothing of notes, and a hidden entry is not part of any request.
    return isNote || edits.includes(null) ? [found] : [];
  }

  #consume(
    found: Found,
    role: 'user' | 'assistant',
    tokens: readonly Token[],
    calls: readonly Call[],
  ): readonly Found[] {
    if (tokens.length === 0 && calls.length === 0) return [{ ...found, round: [] }];
    const here = this.#enter(found, role);
    const run = this.#runs[here?.run ?? -1];
    if (here === undefined || run?.role !== role) return [];
    let { token } = here;
    for (const wanted of tokens.filter((each) => !isHoisted(each))) {
      for (;;) {
        const given = run.tokens[token++];
        if (given === undefined) return [];
        if (isSameToken(given, wanted)) break;
        if (!isHoisted(given)) return [];
      }
    }
    if (run.role === 'user') return [{ ...here, token, round: [] }];
    if (calls.some(({ text }, i) => run.calls[here.call + i]?.text !== text)) return [];
    const round = calls.map(({ id }, i) => ({ id, at: here.call + i }));
    return [{ ...here, token, call: here.call + calls.length, round }];
  }

  #passResult(found: Found, callId: unknown, content: unknown, edits: readonly unknown[]): Found | undefined {
    const asked = found.round.find(({ id, at }) => id === callId && !found.answered.has(at));
    // No request contains a result without its call, or a second one.
    if (asked === undefined) return found;
    const { at } = asked;
    const next = this.#runs[found.run]?.role === 'results' ? found.run : found.run + 1;
    const run = this.#runs[next];
    // The history ends before its results are complete: it lacks this one.
    const isCut = next >= this.#runs.length - 1 && (run?.role !== 'results' || !run.results.has(at));
    if (isCut) return found;
    const here = this.#enter(found, 'results');
    if (here === undefined || run?.role !== 'results') return undefined;
    const texts = [
      resultText(content),
      ...edits.map((edit) => resultText(isObject(edit) ? edit['content'] : HIDDEN_RESULT)),
    ];
    const given = run.results.get(at);
    if (given === undefined || !texts.includes(given)) return undefined;
    return { ...here, answered: new Set([...here.answered, at]) };
  }

  /** Continues with the next run if this one is complete and the next has the role. */
  #enter(found: Found, role: Run['role']): Found | undefined {
    if (this.#runs[found.run]?.role === role) return found;
    const next = this.#runs[found.run + 1];
    if (!this.#isComplete(found) || next?.role !== role) return undefined;
    const round = role === 'results' ? found.round : [];
    return { run: found.run + 1, token: 0, call: 0, answered: new Set(), round };
  }

  #isComplete({ run: at, token, call, answered }: Found): boolean {
    const run = this.#runs[at];
    if (run === undefined) return false;
    if (run.role === 'results') return answered.size === run.results.size;
    const isRead = run.tokens.slice(token).every(isHoisted);
    return isRead && (run.role === 'user' || call === run.calls.length);
  }

  #isDone(found: Found): boolean {
    return this.#runs.length === 0 || (found.run === this.#runs.length - 1 && this.#isComplete(found));
  }

  /** Whether a message of the history ends here too. */
  #isBoundary(found: Found): boolean {
    const run = this.#runs[found.run];
    if (run === undefined || run.role === 'results' || this.#isComplete(found)) return true;
    return run.role === 'user' ? run.ends.has(found.token) : run.ends.has(boundary(found.token, found.call));
  }

  /**
   * The compactions whose summary begins the history, and how much of it they and what they keep cover. Without a
   * summary, as after an undo, the history begins with what is kept.
   */
  #compacted(): Match[] {
    return this.#tree.entries.flatMap(({ type, summary }, at) => {
      if (type !== 'compaction') return [];
      const text = typeof summary === 'string' && summary.trim() !== '' ? summary : undefined;
      const found = text === undefined ? NOTHING : this.#passSummary(text);
      return found === undefined ? [] : this.#passKept(found, at, text ?? '');
    });
  }

  #passSummary(summary: string): Found | undefined {
    const carried = Object.values(SUMMARY_CARRIERS).map((carrier) =>
      this.#passLines(carrySummary(summary, carrier)),
    );
    return carried.find((each) => each !== undefined) ?? this.#passQuoted(summary);
  }

  #passLines(lines: readonly CarrierLine[]): Found | undefined {
    let found: readonly Found[] = [NOTHING];
    for (const { role, text } of lines)
      found = found.flatMap((each) => this.#consume(each, role, textTokens(text), []));
    return found[0];
  }

  /** Up to the end of the first part that contains a text. */
  #passQuoted(text: string): Found | undefined {
    const run = this.#runs[0];
    const wanted = textTokens(text);
    if (run?.role !== 'user' || wanted.length === 0) return undefined;
    const at = run.tokens.findIndex((_, from) =>
      wanted.every((token, i) => endsIn(run.tokens[from + i], token, i, wanted.length)),
    );
    if (at === -1) return undefined;
    const end = Math.min(...[...run.ends].filter((each) => each >= at + wanted.length));
    return { ...NOTHING, token: end };
  }

  /**
   * What a compaction keeps word for word follows its summary. A history that leaves it there needs a compaction that
   * keeps less.
   */
  #passKept(found: Found, compaction: number, summary: string): Match[] {
    const { entries, parents } = this.#tree;
    const firstKeptEntryId = String(entries[compaction]?.['firstKeptEntryId']);
    const path: number[] = [];
    for (let at = parents[compaction] ?? ROOT; at >= 0; at = parents[at] ?? ROOT) path.unshift(at);
    const first = path.findIndex((at) => entries[at]?.id === firstKeptEntryId);
    const kept = first === -1 ? [] : path.slice(first);
    const matches: Match[] = [{ ...found, at: path.at(-1) ?? ROOT, compaction: { summary } }];
    let passed: readonly Found[] = [found];
    for (const at of kept) {
      passed = passed.flatMap((each) => this.#pass(each, at));
      for (const each of passed.filter((one) => this.#isBoundary(one)))
        matches.push({ ...each, at, compaction: { summary, firstKeptEntryId } });
    }
    return [...matches, ...passed.map((each) => ({ ...each, at: compaction }))];
  }

  /** The newest answer that the first message of the history quotes: a summary that another program requested. */
  #freshSummary(): Match | undefined {
    const { entries } = this.#tree;
    const run = this.#runs[0];
    if (run?.role !== 'user') return undefined;
    for (let at = entries.length - 1; at >= 0; at--) {
      const message = entries[at]?.['message'];
      if (!isObject(message) || message['role'] !== 'assistant') continue;
      const text = summaryIn(message['content']);
      const found = text.length < SHORTEST_SUMMARY_CHARS ? undefined : this.#passQuoted(text);
      if (found === undefined) continue;
      const summary = run.tokens
        .slice(0, found.token)
        .flatMap((token) => ('text' in token ? [token.text] : []));
      return { ...found, at, compaction: { summary: summary.join('\n\n') } };
    }
    return undefined;
  }

  #planAt({ at, compaction, ...found }: Match): MergePlan {
    return {
      at: this.#tree.entries[at]?.id ?? null,
      isHere: at === this.#tree.leaf,
      ...(compaction !== undefined && !this.#isDone(found) && { compaction }),
      messages: this.#rest(found),
    };
  }

  #rest(found: Found): ReadMessage[] {
    const isAsking = this.#runs[found.run]?.role === 'assistant';
    return this.#history.messages.flatMap(({ message, run, blockEnds, end, answers }): ReadMessage[] => {
      if (message.role === 'toolResult' && run === found.run + Number(isAsking)) {
        if (found.answered.has(answers)) return [];
        // A stored call may have another id than in this spelling.
        const toolCallId = found.round.find(({ at }) => at === answers)?.id ?? message.toolCallId;
        return [{ ...message, toolCallId }];
      }
      if (run !== found.run) return run > found.run ? [message] : [];
      if (message.role === 'toolResult') return [];
      if (message.role === 'assistant')
        return end.token > found.token || end.call > found.call ? [message] : [];
      const current = this.#runs[run];
      // Images of results, which are in the run of these results.
      if (current?.role !== 'user') return this.#isComplete(found) ? [] : [message];
      const { tokens } = current;
      if (found.token === 0) return [message];
      const content = (typeof message.content === 'string' ? [] : message.content).filter((_, i) => {
        const from = blockEnds[i - 1] ?? 0;
        const to = blockEnds[i] ?? 0;
        return to > found.token && to > from && !tokens.slice(from, to).every(isHoisted);
      });
      return content.length === 0 ? [] : [{ ...message, content }];
    });
  }
}

const listOf = <T>(value: T | undefined): T[] => (value === undefined ? [] : [value]);

/** The calls that a request can contain: without calls that an interruption cut off, or may have cut off. */
function possibleCalls({ stopReason }: JsonObject, blocks: readonly ContentBlock[]): readonly Call[][] {
  if (stopReason !== 'aborted' && stopReason !== 'error') return [callsIn(blocks)];
  const whole = blocks.filter(
    (block) =>
      block.type !== 'toolCall' ||
      (isObject(block.block['arguments']) && block.block['partialJson'] === undefined),
  );
  const calls = callsIn(whole);
  return calls.length > 0 && blocks.at(-1)?.type === 'toolCall' ? [calls, calls.slice(0, -1)] : [calls];
}

/** A summary can begin and end inside a paragraph: other programs put it into a sentence. */
function endsIn(given: Token | undefined, wanted: Token, at: number, count: number): boolean {
  if (given === undefined || !('text' in given) || !('text' in wanted)) return false;
  if (count === 1) return given.text.includes(wanted.text);
  if (at === 0) return given.text.endsWith(wanted.text);
  return at === count - 1 ? given.text.startsWith(wanted.text) : given.text === wanted.text;
}

/** The one with more of the history; of two with the same, the current position, otherwise the later one. */
function better(a: Match, b: Match, leaf: number): Match {
  const order = a.run - b.run || a.token + a.call + a.answered.size - (b.token + b.call + b.answered.size);
  if (order !== 0) return order > 0 ? a : b;
  if ((a.compaction === undefined) !== (b.compaction === undefined))
    return a.compaction === undefined ? a : b;
  if (a.at === leaf) return a;
  return b.at === leaf || b.at >= a.at ? b : a;
}

function contentOf(entry: Entry): ContentBlock[] {
  const { type, message, content, summary } = entry;
  if (type === 'branch_summary')
    return typeof summary === 'string' && summary.trim() !== ''
      ? readBlocks(carryBranchSummary(summary))
      : [];
  if (type === 'custom_message') return readBlocks(content);
  if (type !== 'message' || !isObject(message) || message['role'] === 'system') return [];
  if (message['role'] !== 'bashExecution') return readBlocks(message['content']);
  return message['excludeFromContext'] === true ? [] : readBlocks(shellText(message));
}

/** The part of an answer that is the summary, if it says so. */
function summaryIn(content: unknown): string {
  const text = readBlocks(content)
    .flatMap((block) => (block.type === 'text' ? [block.text] : []))
    .join('\n\n');
  const [, marked] = /<summary>(.*?)<\/summary>/s.exec(text) ?? [];
  return (marked ?? text).trim();
}
