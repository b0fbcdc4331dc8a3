import { flatText, foldCase } from './search-text.ts';

/** A piece of the text around a match. */
export interface SearchMatch {
  readonly snippet: string;
  /** Matches in the snippet as ranges of start and end, sorted and not overlapping. */
  readonly marks: readonly (readonly [number, number])[];
}

const SNIPPET_CHARS = 160;
const BEFORE_CHARS = 40;
const LOW_SURROGATE = /[\udc00-\udfff]/;

/** Decides whether all words occur in a text, and where. Every hit is checked here, whatever an index found. */
export function matchSearch(text: string, words: readonly string[]): SearchMatch | undefined {
  const line = flatText(text);
  const folded = foldCase(line);
  let first = Number.POSITIVE_INFINITY;
  for (const word of words) {
    const at = folded.indexOf(word);
    if (at === -1) return undefined;
    first = Math.min(first, at);
  }
  const place = folded.length === line.length ? (at: number) => at : unfold(line);
  const begin = wholeFrom(line, Math.max(0, place(first) - BEFORE_CHARS));
  const end = wholeFrom(line, Math.min(line.length, begin + SNIPPET_CHARS));
  const marks: [number, number][] = [];
  for (const word of words) {
    for (let at = folded.indexOf(word, first); at !== -1; at = folded.indexOf(word, at + word.length)) {
      const [from, to] = [place(at), Math.min(end, place(at + word.length))];
      if (from >= end) break;
      marks.push([from - begin, to - begin]);
    }
  }
  return { snippet: line.slice(begin, end), marks: joined(marks) };
}

/** Avoids cutting a surrogate pair. */
function wholeFrom(line: string, at: number): number {
  return LOW_SURROGATE.test(line[at] ?? '') ? at + 1 : at;
}

/** A few characters become longer in lower case; then positions are mapped character by character. */
function unfold(line: string): (at: number) => number {
  const places: number[] = [];
  let at = 0;
  for (const character of line) {
    for (let i = foldCase(character).length; i > 0; i--) places.push(at);
    at += character.length;
  }
  return (folded) => places[folded] ?? at;
}

/** Joins ranges that overlap or touch. */
function joined(marks: [number, number][]): [number, number][] {
  const apart: [number, number][] = [];
  for (const [from, to] of marks.sort((a, b) => a[0] - b[0])) {
    const last = apart.at(-1);
    if (last !== undefined && from <= last[1]) last[1] = Math.max(last[1], to);
    else apart.push([from, to]);
  }
  return apart;
}
