import { convertToLlm, type SessionContext } from '@mariozechner/pi-coding-agent';
import {
  type JsonObject,
  project,
  type Selection,
  selectContext,
} from '../../../../src/exports/transcript.ts';
import type { Entry } from '../../../../src/index.ts';

/** One thing a context says, in words that belong to neither tool. */
export interface Contribution {
  readonly kind: 'summary' | 'branch summary' | 'custom' | 'message';
  readonly content: unknown;
}

export interface NeutralContext {
  readonly contributions: readonly Contribution[];
  readonly model: { readonly provider: string; readonly modelId: string } | null;
  readonly thinkingLevel: string;
  /** Every `<w…>` in messages, outside tool results and thinking, in the order a model would read them. */
  readonly words: readonly string[];
}

/** What we select, and what of it our projection sends. `leaf` as for `selectContext`. */
export function ourContext(entries: readonly Entry[], leaf?: string | null): NeutralContext {
  const selection = selectContext(entries, { leaf });
  const { messages } = project(entries, { leaf, target: { family: 'anthropic' } });
  const said: string[] = [];
  for (const message of messages) {
    if (message.role === 'tool') continue;
    for (const part of message.content) if (part.type === 'text') said.push(part.text);
  }
  return {
    contributions: [...ourSummary(selection), ...selection.entries.flatMap(ourContribution)],
    model: selection.model ?? null,
    thinkingLevel: selection.thinkingLevel ?? 'off',
    words: said.flatMap(wordsOf),
  };
}

/** What pi builds, and what of it pi sends. */
export function piContext({ messages, model, thinkingLevel }: SessionContext): NeutralContext {
  const said: string[] = [];
  for (const message of convertToLlm(messages)) {
    if (message.role === 'toolResult') continue;
    if (typeof message.content === 'string') said.push(message.content);
    else for (const block of message.content) if (block.type === 'text') said.push(block.text);
  }
  return {
    contributions: messages.flatMap(piContribution),
    model,
    thinkingLevel,
    words: said.flatMap(wordsOf),
  };
}

function ourSummary({ compaction }: Selection): Contribution[] {
  return compaction === undefined ? [] : spoken('summary', compaction['summary'], {});
}

function ourContribution(entry: Entry): Contribution[] {
  const { type, message, summary, fromId } = entry;
  if (type === 'custom_message') return [custom(entry)];
  if (type === 'branch_summary') return spoken('branch summary', summary, { fromId });
  if (type !== 'message') return [];
  const stored = message as JsonObject;
  return [stored['role'] === 'custom' ? custom(stored) : { kind: 'message', content: stored }];
}

function piContribution(message: SessionContext['messages'][number]): Contribution[] {
  switch (message.role) {
    case 'compactionSummary':
      return spoken('summary', message.summary, {});
    case 'branchSummary':
      return spoken('branch summary', message.summary, { fromId: message.fromId });
    case 'custom':
      return [custom({ ...message })];
    default:
      return [{ kind: 'message', content: message }];
  }
}

/** The one intended difference between valid trees: a blank summary is a message to pi and nothing to us. */
function spoken(kind: Contribution['kind'], summary: unknown, about: object): Contribution[] {
  if (typeof summary !== 'string' || summary.trim() === '') return [];
  return [{ kind, content: { ...about, summary } }];
}

function custom({ customType, content, display, details }: JsonObject): Contribution {
  return { kind: 'custom', content: { customType, content, display, details } };
}

function wordsOf(text: string): string[] {
  return text.match(/<w\d+>/g) ?? [];
}
