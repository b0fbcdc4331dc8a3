import type { ProjectedMessage, ResultPart } from '../../transcript/render/conversation.ts';
import type { ModelRequest } from '../model.ts';
import { digest } from './digest.ts';
import { recall } from './memory.ts';
import { spokenText } from './spoken.ts';
import { type OfflineReply, toolAsks } from './tool-asks.ts';

const WHAT_I_AM =
  "I am Reprise's offline model: a small program without network and without understanding of language. I see only the messages of this request.";
const WHAT_I_CAN =
  'I can repeat what was said in it, remember what you state ("my name is Ada"), and call tools when asked plainly ("read the file notes.txt").';

const SELF =
  /\bwh(?:o|at) are you\b|\bwhat (?:model|can you do)\b|\bare you (?:an? )?(?:ai|real|human|bot|claude|gpt)\b/i;
const SUMMARISE =
  /\b(?:summari[sz]e|write (?:a|the) summary|update the (?:previous |existing )?summary|merge the(?:se)? (?:partial )?summar)/i;
/** Text between these tags is from earlier and is not a request. */
const SUMMARY = /<summary>[\s\S]*?<\/summary>/gi;
const CLIP = 1500;
const MAX_QUESTION = 500;

/** The answer. The same request gets the same reply. */
export function reply(request: ModelRequest, room: number): OfflineReply {
  const { system = '', messages, tools = [] } = request;
  const last = messages.at(-1);
  if (last?.role === 'tool') return say(last.results.map(report).join('\n\n'));
  const spoken = last === undefined ? '' : spokenText(last);
  const ask = lastParagraph(spoken.replaceAll(SUMMARY, ''));
  if (SUMMARISE.test(ask) || (tools.length === 0 && asksForSummary(system, spoken)))
    return say(digest(messages, Math.min(room, request.maxOutputTokens ?? 800)));
  const asked = toolAsks(ask, tools, messages);
  if (asked !== undefined) return asked;
  if (SELF.test(ask)) return say(`${WHAT_I_AM} ${WHAT_I_CAN}`);
  // Longer texts are not questions; they are repeated instead.
  const recalled = ask.length <= MAX_QUESTION ? recall(ask, messages) : undefined;
  return say(recalled ?? echo(ask, messages));
}

function say(text: string): OfflineReply {
  return { text, calls: [] };
}

/** The instruction is at one end of a summarizer's input; the conversation is between the ends. */
function asksForSummary(system: string, spoken: string): boolean {
  return [system.slice(0, 400), spoken.slice(0, 600), spoken.slice(-600)].some((text) =>
    SUMMARISE.test(text.replaceAll(SUMMARY, '')),
  );
}

function report({ name, text, isError }: ResultPart): string {
  return isError ? `${name} failed: ${clip(text)}` : `${name} said:\n${clip(text)}`;
}

function echo(ask: string, messages: readonly ProjectedMessage[]): string {
  const said = `You said: "${clip(ask)}"`;
  const answers = messages.filter(({ role }) => role === 'assistant').length;
  if (answers === 0) return `${said}\n\n${WHAT_I_AM} ${WHAT_I_CAN}`;
  return `${said} I can see ${messages.length} messages of this conversation.`;
}

/** Consecutive user messages share one message, one paragraph each, so the last paragraph is the current request. */
function lastParagraph(text: string): string {
  const paragraphs = text.split(/\n\s*\n/).filter((paragraph) => paragraph.trim() !== '');
  return paragraphs.at(-1)?.trim() ?? '';
}

function clip(text: string): string {
  return text.length > CLIP ? `${text.slice(0, CLIP)}… (${text.length - CLIP} more characters)` : text;
}
