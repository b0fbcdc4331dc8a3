import { type ContentBlock, readBlocks } from '../content.ts';
import { isObject } from '../json.ts';
import {
  callInput,
  EMPTY_TURN,
  INTERRUPTED,
  NO_OUTPUT,
  NO_RESULT,
  OPENING,
  TOOL_IMAGES,
} from '../render/conversation.ts';
import { toolName } from '../render/tool-ids.ts';
import type { ReadMessage } from './read-messages.ts';

/**
 * What is compared: consecutive messages of one role are one run, because APIs merge and split them. Text is compared
 * by paragraph, without white space at line ends and without blank lines. Calls are compared by name and input; their
 * ids only pair them with results. Thinking, instructions, and the texts that `rebuildHistory` inserts do not count.
 */

/** A paragraph or an image. */
export type Token =
  | { readonly text: string }
  | {
      /** Unset for an image that was left out. */
      readonly image: string | undefined;
      /** Belongs to a tool result, but follows in a user message because the API takes no images in results. */
      readonly isHoisted: boolean;
    };

export interface Call {
  readonly id: string;
  /** Name and input in one form. */
  readonly text: string;
}

export type Run =
  | { readonly role: 'user'; readonly tokens: Token[]; readonly ends: Set<number> }
  | {
      readonly role: 'assistant';
      readonly tokens: Token[];
      readonly calls: Call[];
      readonly ends: Set<string>;
    }
  | { readonly role: 'results'; readonly results: Map<number, string> };

/** Where a message, or a block of a user message, ends in its run. */
export interface PlacedMessage {
  readonly message: ReadMessage;
  readonly run: number;
  /** For users: the end of each block. */
  readonly blockEnds: readonly number[];
  readonly end: { readonly token: number; readonly call: number };
  /** For results: the call of the run before that it answers. */
  readonly answers: number;
}

export interface HistoryRuns {
  readonly runs: readonly Run[];
  readonly messages: readonly PlacedMessage[];
}

export function historyRuns(messages: readonly ReadMessage[]): HistoryRuns {
  const runs: Run[] = [];
  const placed: PlacedMessage[] = [];
  for (const message of messages) {
    if (message.role === 'toolResult') placed.push(...placeResult(runs, message));
    else if (message.role === 'user') placed.push(placeUser(runs, message));
    else placed.push(placeAssistant(runs, message));
  }
  return { runs, messages: placed.filter(({ run }) => run >= 0) };
}

export const boundary = (token: number, call: number): string => `${token}:${call}`;

function placeUser(runs: Run[], message: Extract<ReadMessage, { role: 'user' }>): PlacedMessage {
  const blocks = readBlocks(message.content);
  const found = runs.at(-1);
  const run = found?.role === 'user' ? found : { role: 'user' as const, tokens: [], ends: new Set([0]) };
  const blockEnds: number[] = [];
  const tokens = blockTokens(blocks);
  for (const each of tokens) {
    run.tokens.push(...each);
    run.ends.add(run.tokens.length);
    blockEnds.push(run.tokens.length);
  }
  // Images of results alone are no run: other APIs have no message there.
  if (run !== found && !run.tokens.every(isHoisted)) runs.push(run);
  const isPlaced = run === found || run === runs.at(-1) || run.tokens.length > 0;
  const end = { token: run.tokens.length, call: 0 };
  return { message, run: isPlaced ? runs.length - 1 : -1, blockEnds, end, answers: -1 };
}

function placeAssistant(runs: Run[], message: Extract<ReadMessage, { role: 'assistant' }>): PlacedMessage {
  const found = runs.at(-1);
  const run =
    found?.role === 'assistant'
      ? found
      : { role: 'assistant' as const, tokens: [], calls: [], ends: new Set([boundary(0, 0)]) };
  const blocks = readBlocks(message.content);
  run.tokens.push(...tokensOf(blocks));
  run.calls.push(...callsIn(blocks));
  const end = { token: run.tokens.length, call: run.calls.length };
  run.ends.add(boundary(end.token, end.call));
  const isEmpty = end.token + end.call === 0;
  if (run !== found && !isEmpty) runs.push(run);
  return { message, run: isEmpty ? -1 : runs.length - 1, blockEnds: [], end, answers: -1 };
}

/** A result of no call of the last answer, or a second one, is dropped, as it is in every request. */
function placeResult(
  runs: Run[],
  message: Extract<ReadMessage, { role: 'toolResult' }>,
): readonly PlacedMessage[] {
  const last = runs.at(-1);
  const asked = last?.role === 'results' ? runs.at(-2) : last;
  if (asked?.role !== 'assistant') return [];
  const text = resultText(message.content);
  if (text === NO_RESULT) return [];
  const known = last?.role === 'results' ? last.results : new Map<number, string>();
  const answers = asked.calls.findIndex(({ id }, i) => id === message.toolCallId && !known.has(i));
  if (answers === -1) return [];
  if (last?.role !== 'results') runs.push({ role: 'results', results: known });
  known.set(answers, text);
  return [{ message, run: runs.length - 1, blockEnds: [], end: { token: 0, call: 0 }, answers }];
}

/** Texts that stand for something that is missing, and say nothing themselves. */
const STAND_INS: ReadonlySet<string> = new Set([EMPTY_TURN, OPENING, TOOL_IMAGES, INTERRUPTED]);
const LEFT_OUT = '[image left out: ';

export function tokensOf(blocks: readonly ContentBlock[]): Token[] {
  return blockTokens(blocks).flat();
}

function blockTokens(blocks: readonly ContentBlock[]): Token[][] {
  let hoists = false;
  return blocks.map((block): Token[] => {
    if (block.type === 'image') return [{ image: `${block.mimeType}:${block.data}`, isHoisted: hoists }];
    if (block.type !== 'text') return [];
    hoists = paragraphs(block.text).at(-1) === TOOL_IMAGES;
    return textTokens(block.text);
  });
}

export const isHoisted = (token: Token): boolean => 'image' in token && token.isHoisted;

export function textTokens(text: string): Token[] {
  return paragraphs(text)
    .filter((paragraph) => !STAND_INS.has(paragraph))
    .map((paragraph) =>
      paragraph.startsWith(LEFT_OUT) ? { image: undefined, isHoisted: false } : { text: paragraph },
    );
}

function paragraphs(text: string): string[] {
  const clean = normalized(text);
  return clean === '' ? [] : clean.split('\n\n');
}

function normalized(text: string): string {
  return text
    .replace(/\r\n?/g, '\n')
    .replace(/[^\S\n]+$/gm, '')
    .replace(/\n{3,}/g, '\n\n')
    .replace(/^\n+|\n+$/g, '');
}

export function isSameToken(a: Token, b: Token): boolean {
  if ('text' in a || 'text' in b) return 'text' in a && 'text' in b && a.text === b.text;
  return a.image === undefined || b.image === undefined || a.image === b.image;
}

export function callsIn(blocks: readonly ContentBlock[]): Call[] {
  return blocks.flatMap((block) => {
    if (block.type !== 'toolCall') return [];
    const { id, name, arguments: input } = block.block;
    return [{ id: typeof id === 'string' ? id : '', text: `${toolName(name)} ${sorted(callInput(input))}` }];
  });
}

/** JSON with sorted keys. The depth is limited by `callInput`. */
function sorted(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(sorted).join()}]`;
  if (!isObject(value)) return JSON.stringify(value) ?? 'null';
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  return `{${fields
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, field]) => `${JSON.stringify(name)}:${sorted(field)}`)
    .join()}}`;
}

/** The text of a result. Its images are not compared: most APIs cannot hold them there. */
export function resultText(content: unknown): string {
  const texts = readBlocks(content).flatMap((block) => (block.type === 'text' ? [block.text] : []));
  const lines = texts
    .filter((text) => text.trim() !== '')
    .join('\n')
    .split('\n');
  const text = normalized(lines.filter((line) => !line.startsWith(LEFT_OUT)).join('\n'));
  return text === NO_OUTPUT ? '' : text;
}
