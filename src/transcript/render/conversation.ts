import type { ContentBlock } from '../content.ts';
import { inspectJson, isObject, type JsonObject } from '../json.ts';
import { DEFAULT_RECORD_LIMITS } from '../limits.ts';
import { createImageBudget, type ImagePart } from './image-budget.ts';
import { type FamilyRules, rulesFor, type Target } from './target.ts';
import { createToolIds, toolName } from './tool-ids.ts';

/**
 * The conversation in a form that every provider accepts: turns alternate, and every call is directly followed by its
 * result. It is built from front to back and only appended to, so a longer history starts with the same bytes (J7).
 */

export interface TextPart {
  readonly type: 'text';
  readonly text: string;
}

export interface ThinkingPart {
  readonly type: 'thinking';
  readonly thinking: string;
  readonly signature: string;
  readonly redacted: boolean;
}

export interface CallPart {
  readonly type: 'call';
  readonly id: string;
  readonly name: string;
  readonly input: JsonObject;
  readonly signature?: string;
}

export interface ResultPart {
  readonly callId: string;
  readonly name: string;
  readonly text: string;
  readonly images: readonly ImagePart[];
  readonly isError: boolean;
}

export type UserPart = TextPart | ImagePart;
export type AssistantPart = TextPart | ThinkingPart | CallPart;

export type ProjectedMessage =
  | { readonly role: 'user'; readonly content: UserPart[] }
  | { readonly role: 'assistant'; content: AssistantPart[] }
  | { readonly role: 'tool'; readonly results: readonly ResultPart[] };

/** What the rules changed to make the history acceptable, for users to see (P9). */
export interface ProjectionNotes {
  syntheticResults: number;
  orphanResults: number;
  duplicateResults: number;
  renamedCalls: number;
  droppedCalls: number;
  imagesLeftOut: number;
}

export interface StoredResult {
  readonly blocks: readonly ContentBlock[];
  readonly isError: boolean;
}

export const INTERRUPTED = '[interrupted]';
export const NO_RESULT = '[interrupted: no result of this call was recorded]';
export const EMPTY_TURN = '(empty message)';
export const NO_OUTPUT = '(no output)';
export const OPENING = '[The conversation starts with the assistant.]';
const TOO_DEEP = '[arguments left out: nested too deeply]';
export const TOOL_IMAGES = '[Images from the tool results above:]';

interface OpenCall {
  readonly part: CallPart;
  result: StoredResult | undefined;
  /** J1: the last block of an aborted message, so it is unknown whether its arguments are complete. */
  readonly doubtful: boolean;
}

/** Calls of one message with the same stored id get results in order; nearly always there is only one. */
interface SameIdCalls {
  readonly calls: OpenCall[];
  answered: number;
}

export interface AssistantTurn {
  readonly blocks: readonly ContentBlock[];
  /** The turn was aborted or failed. */
  readonly interrupted: boolean;
  /** J5: made by the target's own model. */
  readonly ownModel: boolean;
}

export interface ConversationOptions {
  /** Images of tool results follow in a user message, even if the family accepts them in results. */
  readonly hoistImages?: boolean | undefined;
}

export class Conversation {
  readonly messages: ProjectedMessage[] = [];
  readonly notes: ProjectionNotes = {
    syntheticResults: 0,
    orphanResults: 0,
    duplicateResults: 0,
    renamedCalls: 0,
    droppedCalls: 0,
    imagesLeftOut: 0,
  };
  readonly #rules: FamilyRules;
  readonly #mapId: (id: string) => string;
  readonly #admit: ReturnType<typeof createImageBudget>;
  /** Maps stored call ids to the calls of the round that waits for results. */
  #round: Map<string, SameIdCalls> | null = null;

  constructor(target: Target, { hoistImages = false }: ConversationOptions = {}) {
    const rules = rulesFor(target);
    this.#rules = hoistImages ? { ...rules, toolImages: false } : rules;
    this.#mapId = createToolIds(this.#rules.callId);
    this.#admit = createImageBudget(this.#rules.images);
  }

  /** A user's turn. An empty one stays in place, so that its answer is still an answer (J4). */
  user(blocks: readonly ContentBlock[]): void {
    this.note(blocks);
    if (this.messages.at(-1)?.role !== 'user') this.#say(EMPTY_TURN);
  }

  /** Text on the user's side that is not a turn: a summary, or an extension's message. */
  note(blocks: readonly ContentBlock[]): void {
    this.#closeRound();
    for (const block of blocks) {
      if (block.type === 'text') this.#say(block.text);
      else if (block.type === 'image') this.#show(this.#image(block));
    }
  }

  assistant({ blocks, interrupted, ownModel }: AssistantTurn): void {
    this.#closeRound();
    const parts: AssistantPart[] = [];
    const round = new Map<string, SameIdCalls>();
    const merging = this.messages.at(-1)?.role === 'assistant';
    let dropped = false;
    for (const [i, block] of blocks.entries()) {
      if (block.type === 'text') {
        if (block.text.trim() !== '') parts.push({ type: 'text', text: block.text });
      } else if (block.type === 'thinking') {
        // A merged message differs from the signed one.
        const { thinking, signature, redacted } = block;
        if (ownModel && !merging && signature !== '' && this.#rules.thinkingApis.length > 0) {
          parts.push({ type: 'thinking', thinking, signature, redacted });
        }
      } else if (block.type === 'toolCall') {
        if (interrupted && !isComplete(block.block)) {
          dropped = true;
          continue;
        }
        const part = this.#call(block.block, ownModel, round.size === 0);
        parts.push(part);
        const storedId = callId(block.block);
        const open: OpenCall = { part, result: undefined, doubtful: interrupted && i === blocks.length - 1 };
        const same = round.get(storedId);
        if (same === undefined) round.set(storedId, { calls: [open], answered: 0 });
        else same.calls.push(open);
      }
    }
    if (dropped) this.notes.droppedCalls++;
    const kept = dropped ? parts.filter(({ type }) => type !== 'thinking') : parts;
    if (interrupted && round.size === 0) markInterrupted(kept);
    this.#answer(kept);
    if (round.size > 0) this.#round = round;
  }

  result(storedId: string, result: StoredResult): void {
    const same = this.#round?.get(storedId);
    if (same === undefined) {
      this.notes.orphanResults++;
      return;
    }
    const open = same.calls[same.answered++];
    if (open === undefined) this.notes.duplicateResults++;
    else open.result = result;
  }

  finish(): void {
    this.#closeRound();
  }

  #call(block: JsonObject, ownModel: boolean, first: boolean): CallPart {
    const storedId = callId(block);
    const id = this.#mapId(storedId);
    if (id !== storedId) this.notes.renamedCalls++;
    const own =
      ownModel && typeof block['thoughtSignature'] === 'string' ? block['thoughtSignature'] : undefined;
    const signature = own ?? (first ? this.#rules.foreignCallSignature : undefined);
    const name = toolName(block['name']);
    const input = callInput(block['arguments']);
    return signature === undefined
      ? { type: 'call', id, name, input }
      : { type: 'call', id, name, input, signature };
  }

  /** J2: all results of a round in one message, in the order of the calls, exactly one per call. */
  #closeRound(): void {
    if (this.#round === null) return;
    const calls = new Map<CallPart, OpenCall>();
    for (const same of this.#round.values()) for (const call of same.calls) calls.set(call.part, call);
    this.#round = null;
    for (const { part, doubtful, result } of calls.values()) {
      if (!doubtful || result !== undefined) continue;
      this.notes.droppedCalls++;
      calls.delete(part);
      this.#takeBack(part);
    }
    const assistant = this.messages.at(-1);
    if (calls.size === 0 || assistant?.role !== 'assistant') return;
    const results: ResultPart[] = [];
    for (const part of assistant.content) {
      const call = part.type === 'call' ? calls.get(part) : undefined;
      if (call !== undefined) results.push(this.#result(call));
    }
    this.messages.push({ role: 'tool', results });
    if (!this.#rules.toolImages) this.#hoistImages(results);
  }

  #result({ part, result }: OpenCall): ResultPart {
    const { id: callId, name } = part;
    if (result === undefined) {
      this.notes.syntheticResults++;
      return { callId, name, text: NO_RESULT, images: [], isError: true };
    }
    const texts: string[] = [];
    const images: ImagePart[] = [];
    for (const block of result.blocks) {
      if (block.type === 'text') {
        if (block.text.trim() !== '') texts.push(block.text);
      } else if (block.type === 'image') {
        const image = this.#image(block);
        if (typeof image === 'string') texts.push(image);
        else images.push(image);
      }
    }
    const text =
      texts.length > 0 || (images.length > 0 && this.#rules.toolImages) ? texts.join('\n') : NO_OUTPUT;
    return { callId, name, text, images, isError: result.isError };
  }

  #hoistImages(results: readonly ResultPart[]): void {
    const images = results.flatMap((result) => result.images);
    if (images.length === 0) return;
    this.#say(TOOL_IMAGES);
    for (const image of images) this.#show(image);
  }

  #image(block: Extract<ContentBlock, { type: 'image' }>): ImagePart | string {
    const admitted = this.#admit(block);
    if (typeof admitted === 'string') this.notes.imagesLeftOut++;
    return admitted;
  }

  /** J4: consecutive user messages share one message; a blank line joins their texts. */
  #say(text: string): void {
    if (text.trim() === '') return;
    const content = this.#userContent();
    const last = content.at(-1);
    if (last?.type === 'text')
      content[content.length - 1] = { type: 'text', text: `${last.text}\n\n${text}` };
    else content.push({ type: 'text', text });
  }

  #show(image: ImagePart | string): void {
    if (typeof image === 'string') this.#say(image);
    else this.#userContent().push(image);
  }

  #userContent(): UserPart[] {
    const last = this.messages.at(-1);
    if (last?.role === 'user') return last.content;
    if (last?.role === 'tool' && !this.#rules.userAfterTool) {
      this.messages.push({ role: 'assistant', content: [{ type: 'text', text: INTERRUPTED }] });
    }
    const content: UserPart[] = [];
    this.messages.push({ role: 'user', content });
    return content;
  }

  #answer(parts: AssistantPart[]): void {
    while (parts.at(-1)?.type === 'thinking') parts.pop();
    const last = parts.at(-1);
    if (last === undefined) return;
    trimLastText(parts);
    const before = this.messages.at(-1);
    if (before?.role === 'assistant') {
      for (const part of parts) before.content.push(part);
      return;
    }
    if (before === undefined) this.#say(OPENING);
    this.messages.push({ role: 'assistant', content: parts });
  }

  /** J1 and J5: removes a call that may be incomplete, and the thinking that was signed together with it. */
  #takeBack(part: CallPart): void {
    const last = this.messages.at(-1);
    if (last?.role !== 'assistant') return;
    last.content = last.content.filter((other) => other !== part && other.type !== 'thinking');
    if (!last.content.some(({ type }) => type === 'call')) markInterrupted(last.content);
    if (last.content.length > 0) return;
    this.messages.pop();
    const opening = this.messages[0];
    if (this.messages.length === 1 && opening?.role === 'user') {
      const [only] = opening.content;
      if (only?.type === 'text' && only.text === OPENING) this.messages.pop();
    }
  }
}

/** J1: the text of an interrupted answer stays and is marked as partial. */
function markInterrupted(parts: AssistantPart[]): void {
  if (!parts.some(({ type }) => type === 'text')) return;
  trimLastText(parts);
  parts.push({ type: 'text', text: INTERRUPTED });
}

/**
 * Providers refuse white space at the very end, so no answer ends with it: if only the last answer were trimmed, a
 * prefix would change later.
 */
function trimLastText(parts: AssistantPart[]): void {
  const last = parts.at(-1);
  if (last?.type === 'text') parts[parts.length - 1] = { type: 'text', text: last.text.trimEnd() };
}

function callId(block: JsonObject): string {
  return typeof block['id'] === 'string' ? block['id'] : '';
}

/** Streaming writers leave the raw text of unfinished arguments, or no arguments. */
function isComplete(block: JsonObject): boolean {
  return isObject(block['arguments']) && block['partialJson'] === undefined;
}

/** Input is always an object: some tools store its JSON text, some store nothing if there are no arguments. */
export function callInput(value: unknown): JsonObject {
  let input = value;
  if (typeof value === 'string') {
    try {
      input = JSON.parse(value);
    } catch {
      // Expected for anything except JSON text; it is passed on as a single value.
    }
  }
  if (input === undefined || input === null || input === '') return {};
  const object = isObject(input) ? input : { value: input };
  // Serializing a deeper value would overflow the stack.
  return inspectJson(object, DEFAULT_RECORD_LIMITS.maxDepth).tooDeep ? { value: TOO_DEEP } : object;
}
