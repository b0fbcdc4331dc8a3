import { estimateTextTokens } from '../../context/estimate.ts';
import type { ProjectedMessage } from '../../transcript/render/conversation.ts';
import { statedFacts } from './memory.ts';
import { speakerOf, spokenText } from './spoken.ts';

const DECISION = /\b(?:decided?|decision|agreed|must|never|always|we will|let's|prefer|remember)\b/i;
const IDENTIFIER =
  /(?:[\w.-]+\/)+[\w.-]+|\b[\w-]+\.[a-z]{1,5}\b|\bhttps?:\/\/\S+|\b[A-Za-z]+[-_]?\d[\w-]*\b|\b\d{3,}\b/g;
const EMBEDDED = /<(conversation|messages|transcript|history)>([\s\S]*)<\/\1>/i;
const SPEAKER = /^\s*\[?(user|assistant|tool)\]?:\s*/i;
const MAX_LINE = 240;
const MAX_IDENTIFIERS = 40;

/**
 * A summary of sentences from the conversation: statements, decisions, open questions, and every name and number that
 * cannot be guessed. It invents nothing and stays within its limit.
 */
export function digest(messages: readonly ProjectedMessage[], room: number): string {
  const lines = messages.flatMap((message) => sentences(material(spokenText(message)), speakerOf(message)));
  const user = lines.filter(({ role }) => role === 'user').map(({ text }) => text);
  const all = lines.map(({ text }) => text);
  const sections: [title: string, share: number, lines: readonly string[]][] = [
    ['Goal', 0.1, user.slice(0, 1)],
    ['Facts', 0.35, newestFacts(user)],
    ['Decisions', 0.2, all.filter((text) => DECISION.test(text)).toReversed()],
    ['Open questions', 0.1, user.filter((text) => text.endsWith('?')).slice(-5)],
    ['Latest', 0.15, user.slice(-3)],
    ['Identifiers', 0.1, [identifiers(all).join(', ')]],
  ];
  const seen = new Set<string>();
  let text = '';
  for (const [title, share, candidates] of sections) {
    let section = '';
    for (const candidate of candidates) {
      if (candidate === '' || seen.has(candidate)) continue;
      const next = `${section === '' ? `## ${title}\n` : section}- ${candidate}\n`;
      if (estimateTextTokens(next) > room * share) break;
      seen.add(candidate);
      section = next;
    }
    text += section;
  }
  return text.trimEnd();
}

/** The last sentence about each topic. */
function newestFacts(texts: readonly string[]): string[] {
  const facts = new Map<string, string>();
  for (const text of texts) for (const [thing] of statedFacts(text)) facts.set(thing, text);
  return [...facts.values()];
}

/** A summarizer receives the conversation inside one message; the text around it is instructions. */
function material(text: string): string {
  return EMBEDDED.exec(text)?.[2] ?? text;
}

/** In an embedded conversation the lines name the speaker. */
function sentences(text: string, role: string): { role: string; text: string }[] {
  let speaker = role;
  return text
    .split(/(?<=[.!?])\s+|\n+/)
    .map((sentence) => {
      const label = SPEAKER.exec(sentence);
      if (label?.[1] !== undefined) speaker = label[1].toLowerCase();
      const said = sentence.slice(label?.[0].length ?? 0).replace(/^[-#*\s]+/, '');
      return { role: speaker, text: said.trim().slice(0, MAX_LINE) };
    })
    .filter(({ text: said }) => said.length > 2 && !/^<\/?\w+>$/.test(said));
}

function identifiers(texts: readonly string[]): string[] {
  const found = new Set<string>();
  for (const text of texts.toReversed()) {
    for (const [name] of text.matchAll(IDENTIFIER)) {
      found.add(name);
      if (found.size >= MAX_IDENTIFIERS) return [...found];
    }
  }
  return [...found];
}
