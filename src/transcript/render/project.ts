import { type ContentBlock, readBlocks } from '../content.ts';
import type { Entry } from '../entry.ts';
import type { IssueLog } from '../issues.ts';
import { isObject, type JsonObject } from '../json.ts';
import {
  type CarrierName,
  carryBranchSummary,
  carrySummary,
  SUMMARY_CARRIERS,
  type SummaryCarrier,
} from './carrier.ts';
import {
  Conversation,
  type ConversationOptions,
  type ProjectedMessage,
  type ProjectionNotes,
} from './conversation.ts';
import { type Selection, selectContext } from './select.ts';
import { rulesFor, type Target } from './target.ts';

export interface ProjectOptions extends ConversationOptions {
  readonly target: Target;
  /** Id of the entry to use as leaf; null is before the first entry. Unset: the transcript's own leaf. */
  readonly leaf?: string | null | undefined;
  readonly carrier?: CarrierName | SummaryCarrier | undefined;
  readonly issues?: IssueLog | undefined;
}

export interface Projection {
  readonly messages: readonly ProjectedMessage[];
  /** The last system prompt in the transcript, for callers that need it; it is never part of `messages`. */
  readonly system: string | undefined;
  readonly model: Selection['model'];
  readonly thinkingLevel: string | undefined;
  readonly settings: Selection['settings'];
  readonly notes: Readonly<ProjectionNotes>;
}

export const HIDDEN_RESULT: readonly ContentBlock[] = [{ type: 'text', text: '[removed from the context]' }];

/**
 * Converts stored entries to a conversation that every provider of the target's family accepts (P4). Stored history
 * is only read. The rules J1 to J8 are where they act: J1 to J5 in `Conversation`, J6 in the image budget, J7 in that
 * everything is decided from front to back, J8 in the carriers.
 */
export function project(entries: readonly Entry[], options: ProjectOptions): Projection {
  const { leaf, issues } = options;
  return projectSelection(selectContext(entries, { leaf, issues }), options);
}

/** Like `project`, for a caller that has already made the selection. */
export function projectSelection(
  selection: Selection,
  { target, carrier = 'user', hoistImages }: Omit<ProjectOptions, 'leaf' | 'issues'>,
): Projection {
  const { compaction, edits, model, thinkingLevel, settings } = selection;
  const conversation = new Conversation(target, { hoistImages });
  const judge = ownModelJudge(target, model);
  let system = compaction === undefined ? undefined : systemText(compaction['systemMessage']);
  const lines = typeof carrier === 'string' ? SUMMARY_CARRIERS[carrier] : carrier;
  for (const { role, text } of carrySummary(compaction?.['summary'], lines)) {
    const blocks: ContentBlock[] = [{ type: 'text', text }];
    if (role === 'user') conversation.note(blocks);
    else conversation.assistant({ blocks, interrupted: false, ownModel: false });
  }
  for (const entry of selection.entries) {
    const edit = edits.get(entry);
    if (entry.type === 'message' && isObject(entry['message'])) {
      const message = entry['message'];
      if (message['role'] === 'system') system = systemText(message) ?? system;
      else addMessage(conversation, message, edit, judge);
    } else if (edit !== null) {
      const blocks = contextBlocks(entry, edit);
      if (blocks !== undefined) conversation.note(blocks);
    }
  }
  conversation.finish();
  return {
    messages: conversation.messages,
    system,
    model,
    thinkingLevel,
    settings,
    notes: conversation.notes,
  };
}

function addMessage(
  conversation: Conversation,
  message: JsonObject,
  edit: unknown,
  isOwnModel: (message: JsonObject) => boolean,
): void {
  const { role, stopReason } = message;
  const content = edit ?? message['content'];
  if (role === 'toolResult') {
    const { toolCallId, isError } = message;
    const blocks = edit === null ? HIDDEN_RESULT : readBlocks(content);
    conversation.result(typeof toolCallId === 'string' ? toolCallId : '', {
      blocks,
      isError: isError === true,
    });
  } else if (edit === null) {
    // Hidden as if it did not exist; results of its calls become orphans and are dropped too.
  } else if (role === 'assistant') {
    conversation.assistant({
      blocks: readBlocks(content),
      interrupted: stopReason === 'aborted' || stopReason === 'error',
      ownModel: edit === undefined && isOwnModel(message),
    });
  } else if (role === 'user') {
    conversation.user(readBlocks(content));
  } else if (role === 'custom') {
    conversation.note(readBlocks(content));
  } else if (role === 'bashExecution' && message['excludeFromContext'] !== true) {
    conversation.note([{ type: 'text', text: shellText(message) }]);
  }
}

/** Entries that are not messages but have text for the model, as user text. */
function contextBlocks(entry: Entry, edit: unknown): ContentBlock[] | undefined {
  if (entry.type === 'custom_message') return readBlocks(edit ?? entry['content']);
  const { summary } = entry;
  if (entry.type !== 'branch_summary' || typeof summary !== 'string' || summary.trim() === '')
    return undefined;
  return [{ type: 'text', text: carryBranchSummary(summary) }];
}

/** J5. Without a target model, the session's current model counts. */
function ownModelJudge(target: Target, current: Selection['model']): (message: JsonObject) => boolean {
  const provider = target.provider ?? current?.provider;
  const model = target.model ?? current?.modelId;
  const { thinkingApis, foreignCallSignature } = rulesFor(target);
  if (provider === undefined || model === undefined || target.strict === true) return () => false;
  return (message) => {
    if (message['provider'] !== provider || message['model'] !== model) return false;
    const api = message['api'] ?? provider;
    return foreignCallSignature !== undefined || thinkingApis.some((name) => name === api);
  };
}

export function shellText({ command, output, exitCode, cancelled }: JsonObject): string {
  const lines = [`The user ran a shell command:\n$ ${String(command)}`];
  lines.push(typeof output === 'string' && output.trim() !== '' ? output : '(no output)');
  if (cancelled === true) lines.push('(cancelled)');
  else if (typeof exitCode === 'number' && exitCode !== 0) lines.push(`(exit code ${exitCode})`);
  return lines.join('\n');
}

function systemText(message: unknown): string | undefined {
  if (!isObject(message)) return undefined;
  const { content, sections } = message;
  if (typeof content === 'string' && content !== '') return content;
  if (!isObject(sections)) return undefined;
  const texts = Object.values(sections).filter((text) => typeof text === 'string');
  return texts.length > 0 ? texts.join('\n\n') : undefined;
}
