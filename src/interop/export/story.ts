import { type ContentBlock, readBlocks } from '../../transcript/content.ts';
import { type Entry, entryTime } from '../../transcript/entry.ts';
import { isObject, type JsonObject } from '../../transcript/json.ts';
import { pathEntries } from '../../transcript/tree.ts';
import type { SessionDocument } from '../session-document.ts';

/** What a reader sees of a session, in order. Text is as stored; the caller escapes it. */
export type StoryItem = StoryMessage | StoryRule | StoryNote;

export interface StoryMessage {
  readonly kind: 'message';
  readonly id: string;
  readonly who: string;
  readonly at: string;
  readonly model: string;
  readonly parts: readonly StoryPart[];
}

export type StoryPart =
  | { readonly kind: 'text' | 'thinking'; readonly text: string }
  | { readonly kind: 'image'; readonly data: string; readonly mimeType: string }
  | {
      readonly kind: 'call';
      readonly name: string;
      readonly input: string;
      readonly result: readonly StoryPart[] | undefined;
      readonly isError: boolean;
    };

/** A compaction. `originals` are the messages its summary replaces; empty if a later compaction replaced it. */
export interface StoryRule {
  readonly kind: 'rule';
  readonly id: string;
  readonly at: string;
  readonly summary: string;
  readonly originals: readonly (StoryMessage | StoryNote | StoryRule)[];
}

/** A change of model, an abandoned branch, or a loss. */
export interface StoryNote {
  readonly kind: 'note';
  readonly id: string;
  readonly at: string;
  readonly text: string;
}

interface Placed {
  readonly position: number;
  readonly item: StoryItem;
  /** The items that a compaction covers. */
  readonly covered?: readonly Placed[];
}

/** The conversation from its root to the leaf. Covered messages are nested in their compaction, one level deep. */
export function storyOf({ entries }: Pick<SessionDocument, 'entries'>): StoryItem[] {
  const path = pathEntries(entries);
  const results = resultsOf(path);
  const positions = new Map(path.map(({ id }, position) => [id, position]));
  let told: Placed[] = [];
  for (const [position, entry] of path.entries()) {
    if (entry.type !== 'compaction') {
      const item = itemOf(entry, results);
      if (item !== undefined) told.push({ position, item });
      continue;
    }
    // Only the last compaction counts, so first restore what earlier ones covered.
    const flat = told.flatMap(unfold);
    const from = positions.get(String(entry['firstKeptEntryId'])) ?? position;
    const covered = flat.filter((each) => each.position < from);
    const rule: StoryRule = {
      kind: 'rule',
      id: entry.id,
      at: entryTime(entry),
      summary: textOf(entry['summary']),
      originals: covered.map(({ item }) => item),
    };
    told = [{ position, item: rule, covered }, ...flat.filter((each) => each.position >= from)];
    // The compaction was undone, and there was none before it.
    if (covered.length === 0 && rule.summary.trim() === '') told.shift();
  }
  return told.map(({ item }) => item);
}

function unfold({ position, item, covered = [] }: Placed): readonly Placed[] {
  if (item.kind !== 'rule') return [{ position, item }];
  return [...covered, { position, item: { ...item, originals: [] } }];
}

function itemOf(entry: Entry, results: Results): StoryItem | undefined {
  const { id, type, message } = entry;
  const at = entryTime(entry);
  if (type === 'message' && isObject(message)) {
    if (message['role'] === 'toolResult' && results.claimed.has(entry)) return undefined;
    const who = textOf(message['role']) || 'unknown';
    return { kind: 'message', id, who, at, model: modelOf(message), parts: partsOf(message, entry, results) };
  }
  if (type === 'custom_message') {
    const parts = blockParts(readBlocks(entry['content']));
    return { kind: 'message', id, who: textOf(entry['customType']) || 'note', at, model: '', parts };
  }
  const text = noteText(entry);
  return text === undefined ? undefined : { kind: 'note', id, at, text };
}

function modelOf({ provider, model, role }: JsonObject): string {
  if (role !== 'assistant' || typeof model !== 'string') return '';
  return typeof provider === 'string' ? `${provider}/${model}` : model;
}

function noteText(entry: Entry): string | undefined {
  const { type, provider, modelId, thinkingLevel, summary } = entry;
  if (type === 'model_change') return `model: ${textOf(provider)}/${textOf(modelId)}`;
  if (type === 'thinking_level_change') return `thinking: ${textOf(thinkingLevel)}`;
  if (type === 'branch_summary' && textOf(summary) !== '')
    return `a branch that was left: ${textOf(summary)}`;
  return undefined;
}

interface Results {
  /** Tool results by call id, in order; each call takes the next one of its id. */
  readonly byCall: Map<string, Entry[]>;
  readonly claimed: Set<Entry>;
}

/** A result is shown with its call; one without an earlier call stays where it is. */
function resultsOf(path: readonly Entry[]): Results {
  const byCall = new Map<string, Entry[]>();
  for (const entry of path) {
    const { message } = entry;
    if (!isObject(message) || message['role'] !== 'toolResult') continue;
    const id = textOf(message['toolCallId']);
    const same = byCall.get(id);
    if (same === undefined) byCall.set(id, [entry]);
    else same.push(entry);
  }
  return { byCall, claimed: new Set() };
}

function partsOf(message: JsonObject, entry: Entry, results: Results): StoryPart[] {
  if (message['role'] === 'bashExecution')
    return [{ kind: 'text', text: `$ ${textOf(message['command'])}\n${textOf(message['output'])}` }];
  const parts = blockParts(readBlocks(message['content']), results);
  const { errorMessage } = message;
  if (typeof errorMessage === 'string' && errorMessage !== '')
    parts.push({ kind: 'text', text: `[${textOf(message['stopReason'])}: ${errorMessage}]` });
  if (parts.length === 0 && entry.type === 'message') parts.push({ kind: 'text', text: '' });
  return parts;
}

function blockParts(blocks: readonly ContentBlock[], results?: Results): StoryPart[] {
  return blocks.map((block) => blockPart(block, results));
}

function blockPart(block: ContentBlock, results: Results | undefined): StoryPart {
  switch (block.type) {
    case 'text':
      return { kind: 'text', text: block.text };
    case 'thinking':
      return { kind: 'thinking', text: block.redacted ? '[kept by the provider]' : block.thinking };
    case 'image':
      return { kind: 'image', data: block.data, mimeType: block.mimeType };
    case 'toolCall':
      return callPart(block.block, results);
  }
}

function callPart(block: JsonObject, results: Results | undefined): StoryPart {
  const { id, name, partialJson } = block;
  const answer = results?.byCall.get(textOf(id))?.shift();
  if (answer !== undefined) results?.claimed.add(answer);
  const message = isObject(answer?.['message']) ? answer['message'] : undefined;
  const input =
    typeof partialJson === 'string' ? partialJson : JSON.stringify(block['arguments'] ?? {}, null, 2);
  return {
    kind: 'call',
    name: textOf(name),
    input,
    result: message === undefined ? undefined : blockParts(readBlocks(message['content'])),
    isError: message?.['isError'] === true,
  };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The title on one line. */
export function firstWords(document: SessionDocument): string {
  return (document.title.trim() || document.id).replace(/\s+/g, ' ');
}
