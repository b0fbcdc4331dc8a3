import { customData, type Entry } from '../../transcript/entry.ts';
import { isObject } from '../../transcript/json.ts';
import type { AnthropicMessage } from '../../transcript/render/render-anthropic.ts';
import { TURN_STATISTICS } from '../../transcript/settings.ts';
import { pathEntries } from '../../transcript/tree.ts';
import type { SessionDocument } from '../session-document.ts';

/** What a layout can leave out, for one of it and for several. */
const KINDS = {
  toolCalls: ['tool call', 'tool calls'],
  toolResults: ['tool result', 'tool results'],
  images: ['image', 'images'],
  thinkingBlocks: ['thinking block', 'thinking blocks'],
  messagesOfOtherBranches: ['message of another branch', 'messages of other branches'],
  messagesUnderSummary: ['message that the summary stands for', 'messages that the summary stands for'],
  summaries: ['summary', 'summaries'],
  edits: ['edit of the context', 'edits of the context'],
  pins: ['pin', 'pins'],
  settings: ['setting', 'settings'],
  labels: ['label of a message', 'labels of messages'],
  modelChanges: ['change of the model', 'changes of the model'],
  usageRecords: ['usage record', 'usage records'],
  otherEntries: ['other entry', 'other entries'],
  channelMessages: ['message of a channel log', 'messages of channel logs'],
  sessionsInTrash: ['session in the trash', 'sessions in the trash'],
} as const;

export type LeftOutKind = keyof typeof KINDS;
/** Kinds of which nothing was left out are missing. */
export type LeftOut = Partial<Record<LeftOutKind, number>>;

export interface LeftOutReport {
  readonly total: LeftOut;
  /** Sessions that were written completely are missing. */
  readonly sessions: readonly (LeftOut & { readonly id: string })[];
}

/** Adds up what the layouts leave out. */
export class LeftOutCounter {
  readonly #total: Map<LeftOutKind, number> = new Map();
  readonly #sessions: (LeftOut & { readonly id: string })[] = [];

  add(kind: LeftOutKind, count: number): void {
    if (count > 0) this.#total.set(kind, (this.#total.get(kind) ?? 0) + count);
  }

  addSession(id: string, leftOut: LeftOut): void {
    const found = kindsIn(leftOut);
    for (const [kind, count] of found) this.add(kind, count);
    if (found.length > 0) this.#sessions.push({ id, ...Object.fromEntries(found) });
  }

  report(): LeftOutReport {
    return { total: Object.fromEntries(kindsIn(Object.fromEntries(this.#total))), sessions: this.#sessions };
  }
}

/** In the order of the table. */
function kindsIn(leftOut: LeftOut): [LeftOutKind, number][] {
  return (Object.keys(KINDS) as LeftOutKind[]).flatMap((kind) => {
    const count = leftOut[kind] ?? 0;
    return count > 0 ? [[kind, count]] : [];
  });
}

/** For people: `3 tool calls, 1 image`; empty if nothing was left out. */
export function leftOutText(leftOut: LeftOut): string {
  return kindsIn(leftOut)
    .map(([kind, count]) => `${count} ${KINDS[kind][count === 1 ? 0 : 1]}`)
    .join(', ');
}

interface Written {
  /** The messages in the file of the session. */
  readonly messages: readonly AnthropicMessage[];
  /** Entries whose messages were not written because a summary is there instead. */
  readonly underSummary?: readonly Entry[];
  readonly hasSummary: boolean;
}

/** What a layout with a flat list of messages left out of a session. */
export function leftOutOf({ entries, settings }: SessionDocument, written: Written): LeftOut {
  const path = new Set(pathEntries(entries));
  const under = new Set(written.underSummary);
  const said = [...path].filter((entry) => entry.type === 'message' && !under.has(entry));
  const stored = countBlocks(said.map(({ message }) => message));
  const kept = countBlocks(written.messages);
  const count = (fits: (entry: Entry) => boolean): number => entries.filter(fits).length;
  const ofType = (...types: readonly string[]): number => count(({ type }) => types.includes(type));
  const chosen = Object.keys(settings).filter((name) => name !== 'label' && !TURN_STATISTICS.includes(name));
  return {
    toolCalls: stored.toolCalls - kept.toolCalls,
    toolResults: stored.toolResults - kept.toolResults,
    images: stored.images - kept.images,
    thinkingBlocks: stored.thinkingBlocks - kept.thinkingBlocks,
    messagesOfOtherBranches: count((entry) => entry.type === 'message' && !path.has(entry)),
    messagesUnderSummary: [...under].filter(({ type }) => type === 'message').length,
    summaries: count(isSummary) - (written.hasSummary ? 1 : 0),
    edits: ofType('context_edit'),
    pins: countPins(entries),
    settings: chosen.length,
    labels: ofType('label'),
    modelChanges: ofType('model_change', 'thinking_level_change'),
    usageRecords: count((entry) => customData(entry, 'reprise.turn') !== undefined),
    otherEntries: count(
      ({ type, customType }) => type === 'custom' && !String(customType).startsWith('reprise.'),
    ),
  };
}

type Blocks = Record<'toolCalls' | 'toolResults' | 'images' | 'thinkingBlocks', number>;

const BLOCK_KINDS: ReadonlyMap<unknown, keyof Blocks> = new Map([
  ...(['toolCall', 'tool_use'] as const).map((type) => [type, 'toolCalls'] as const),
  ...(['thinking', 'redacted_thinking'] as const).map((type) => [type, 'thinkingBlocks'] as const),
  ['tool_result', 'toolResults'] as const,
  ['image', 'images'] as const,
]);

/** Of messages as they are stored, where a result is a message, and as they are written, where it is a block. */
function countBlocks(messages: readonly unknown[]): Blocks {
  const counts: Blocks = { toolCalls: 0, toolResults: 0, images: 0, thinkingBlocks: 0 };
  const look = (content: unknown): void => {
    for (const block of Array.isArray(content) ? (content as readonly unknown[]) : []) {
      if (!isObject(block)) continue;
      const kind = BLOCK_KINDS.get(block['type']);
      if (kind !== undefined) counts[kind]++;
      if (block['type'] === 'tool_result') look(block['content']);
    }
  };
  for (const message of messages) {
    if (!isObject(message)) continue;
    if (message['role'] === 'toolResult') counts.toolResults++;
    look(message['content']);
  }
  return counts;
}

function isSummary({ type, summary }: Entry): boolean {
  return type === 'compaction' && typeof summary === 'string' && summary.trim() !== '';
}

function countPins(entries: readonly Entry[]): number {
  const pinned = new Map<unknown, boolean>();
  for (const entry of entries) {
    const pin = customData(entry, 'reprise.pin');
    if (pin !== undefined) pinned.set(pin['entryId'], pin['text'] !== '');
  }
  return [...pinned.values()].filter(Boolean).length;
}
