import { findFacts } from './recall.ts';
import type { SpokenEntry } from './speak.ts';

export interface DigestOptions {
  readonly previousSummary: string;
  readonly maxTokens: number;
  readonly textTokens: (text: string) => number;
}

const LINE_CHARS = 240;

/**
 * A summary without a model: the same input gives the same text, it cannot fail, and it counts what does not fit. It
 * contains the requests, the answers, and the exact names that were mentioned.
 */
export function digest(
  spoken: readonly SpokenEntry[],
  { previousSummary, maxTokens, textTokens }: DigestOptions,
): string {
  const room = createRoom(maxTokens, textTokens);
  const title = '# Digest of the conversation so far (made without a model)';
  room.take(title);
  const asks = linesOf(spoken, 'user');
  const answers = linesOf(spoken, 'assistant');
  const facts = findFacts(spoken).filter(({ kind }) => kind !== 'ask');
  const sections = [
    // The newest entries matter most, so each list is filled from its end; the shares leave room for all lists.
    section(
      'Before that',
      previousSummary.split('\n').filter((line) => line.trim() !== ''),
      0.3,
      'head',
    ),
    section('Asked', asks, 0.35, 'tail'),
    section('Answered', answers, 0.55, 'tail'),
    section(
      'Named',
      facts.map(({ text }) => text),
      1,
      'head',
    ),
  ];
  const written = sections.flatMap(({ name, lines, share, keep }) => room.fill(name, lines, share, keep));
  return [title, ...written].join('\n');
}

interface Section {
  readonly name: string;
  readonly lines: readonly string[];
  /** Share of the room that is still free. */
  readonly share: number;
  readonly keep: 'head' | 'tail';
}

function section(name: string, lines: readonly string[], share: number, keep: Section['keep']): Section {
  return { name, lines, share, keep };
}

function linesOf(spoken: readonly SpokenEntry[], speaker: SpokenEntry['speaker']): string[] {
  return spoken.filter((entry) => entry.speaker === speaker).map(({ text }) => firstLine(text));
}

function firstLine(text: string): string {
  const line = text.trim().replace(/\s+/g, ' ');
  if (line.length <= LINE_CHARS) return line;
  return `${[...line.slice(0, LINE_CHARS)].slice(0, -1).join('')}…`;
}

interface Room {
  take(text: string): boolean;
  fill(name: string, lines: readonly string[], share: number, keep: Section['keep']): string[];
}

function createRoom(maxTokens: number, textTokens: (text: string) => number): Room {
  let left = maxTokens;
  const take = (text: string): boolean => {
    const cost = textTokens(`${text}\n`);
    if (cost > left) return false;
    left -= cost;
    return true;
  };
  const fill: Room['fill'] = (name, lines, share, keep) => {
    if (lines.length === 0 || !take(`## ${name}\n- (9999 left out)`)) return [];
    const floor = left * (1 - share);
    const taken: string[] = [];
    const ordered = keep === 'head' ? lines : [...lines].reverse();
    for (const line of ordered) {
      if (left <= floor || !take(`- ${line}`)) break;
      taken.push(`- ${line}`);
    }
    const omitted = lines.length - taken.length;
    const note = omitted > 0 ? [`- (${omitted} left out)`] : [];
    return [`## ${name}`, ...(keep === 'head' ? [...taken, ...note] : [...note, ...taken.reverse()])];
  };
  return { take, fill };
}
