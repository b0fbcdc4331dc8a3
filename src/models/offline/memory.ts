import type { ProjectedMessage } from '../../transcript/render/conversation.ts';
import { speakerOf, spokenText } from './spoken.ts';

const RECALL = /\bwhat did I (?:just )?(?:say|tell you|ask)(?:\s+(first|last))?(?:\s+about\s+(.+?))?\s*\?*$/i;
const REPEAT = /^(?:please )?(?:repeat(?: after me)?|say|echo)\s*:?\s+(.+)$/is;
const COUNT = /\bhow many messages\b/i;
const QUESTION =
  /\b(?:what(?:'s| is| are| was)|(?:do you )?(?:know|remember)|tell me) (?:my|our|the) ([\w][\w '-]{0,60}?)\s*[?.!]*$/i;
const STATEMENT = /\b(?:my|our|the) ([\w][\w '-]{0,60}?) (?:is|are|was) ([^.;!?\n]{1,300})/gi;
const NAMED = /\b(?:[Cc]all me|I am|I'm) ([A-Z][\w'-]*(?: [A-Z][\w'-]*)*)/g;
const LISTED = 10;

/** Answers from the text of the messages. @returns `undefined` if the question cannot be answered from them. */
export function recall(ask: string, messages: readonly ProjectedMessage[]): string | undefined {
  if (COUNT.test(ask)) return `I was sent ${messages.length} messages.`;
  const said = earlier(messages);
  const asked = RECALL.exec(ask);
  if (asked !== null) return retell(said, asked[1]?.toLowerCase(), asked[2]);
  const repeat = REPEAT.exec(ask)?.[1];
  if (repeat !== undefined) return repeat.replace(/^(["'])(.*)\1$/s, '$2');
  const thing = /\bwho am I\b/i.test(ask) ? 'name' : QUESTION.exec(ask)?.[1];
  if (thing === undefined) return undefined;
  const value = findFact(thing, messages);
  if (value === undefined) return `Nothing in the messages I was sent says what your ${thing} is.`;
  return `From what you said: your ${thing} is ${value}.`;
}

/** The user's messages before this one. */
function earlier(messages: readonly ProjectedMessage[]): string[] {
  return messages.slice(0, -1).flatMap((message) => (message.role === 'user' ? [spokenText(message)] : []));
}

function retell(said: readonly string[], which: string | undefined, about: string | undefined): string {
  const wanted = about === undefined ? said : said.filter((text) => includes(text, about));
  const [first] = wanted;
  const last = wanted.at(-1);
  if (first === undefined || last === undefined)
    return about === undefined ? 'This is the first thing you said.' : `You said nothing about ${about}.`;
  if (which === 'first') return `The first thing you said: "${first}"`;
  if (which === 'last' || wanted.length === 1) return `You said: "${last}"`;
  const shown = wanted.slice(-LISTED).map((text, i) => `${i + 1}. ${text}`);
  const left = wanted.length - shown.length;
  return `You said${left > 0 ? ` (the last ${shown.length} of ${wanted.length})` : ''}:\n${shown.join('\n')}`;
}

function includes(text: string, part: string): boolean {
  return text.toLowerCase().includes(part.toLowerCase());
}

/** The newest statement wins; summaries count, in whatever role they are sent. */
function findFact(thing: string, messages: readonly ProjectedMessage[]): string | undefined {
  const wanted = thing.toLowerCase();
  for (const message of messages.toReversed()) {
    if (speakerOf(message) !== 'user') continue;
    const facts = statedFacts(spokenText(message)).filter(([name]) => name === wanted);
    const value = facts.at(-1)?.[1];
    if (value !== undefined) return value;
  }
  return undefined;
}

/** Pairs of a thing and its stated value, in the order of the text. */
export function statedFacts(text: string): [thing: string, value: string][] {
  const facts: [string, string][] = [];
  for (const sentence of text.split(/(?<=[.!?])\s|\n/)) {
    if (sentence.trimEnd().endsWith('?')) continue;
    for (const [, thing = '', value = ''] of sentence.matchAll(STATEMENT))
      facts.push([thing.toLowerCase(), value.trim().replace(/["')\]]+$/, '')]);
    for (const [, name = ''] of sentence.matchAll(NAMED)) facts.push(['name', name]);
  }
  return facts;
}
