/** A stretch of text with its formats. */
export interface Span {
  readonly text: string;
  readonly formats: readonly InlineFormat[];
  /** The address of a link. */
  readonly href?: string;
}

export type InlineFormat = 'bold' | 'italic' | 'strikethrough' | 'code' | 'link';

export interface Scanned {
  readonly spans: readonly Span[];
  /** How much of the text the spans cover; the rest needs more text to be understood. */
  readonly length: number;
}

export interface ScanOptions {
  /** The formats of the text around it. */
  readonly formats?: readonly InlineFormat[];
  /** The character before the text. */
  readonly before?: string;
}

interface Source {
  readonly text: string;
  readonly isWhole: boolean;
  readonly formats: readonly InlineFormat[];
  readonly before: string;
}

/** A mark that is not closed within this distance is plain text, so that a stray one holds back little. */
const MAX_SPAN_CHARS = 2000;
const SPECIAL = /[\\`*_~[!<]|https?:\/\//g;
const PUNCTUATION = /[!-/:-@[-`{-~]/;
const WORD = /[\p{L}\p{N}]/u;
const URL_START = 'https://';
const URL_CHARS = /[^\s<>"`]*/y;
const URL_TAIL = /[.,;:!?'*_~)\]]+$/;

/**
 * Reads the formats of one line as far as they are certain. What it returns depends only on the text, never on how
 * much of it had arrived when it was called.
 */
export function scanInline(
  text: string,
  isWhole: boolean,
  { formats = [], before = ' ' }: ScanOptions = {},
): Scanned {
  const spans: Span[] = [];
  const add = (part: string): void => {
    if (part !== '') spans.push({ text: part, formats });
  };
  let at = 0;
  while (at < text.length) {
    SPECIAL.lastIndex = at;
    const match = SPECIAL.exec(text);
    const next = match?.index ?? certainEnd(text, at, isWhole);
    add(text.slice(at, next));
    at = next;
    if (match === null) break;
    const found = special({ text, isWhole, formats, before }, at);
    if (found === undefined) break;
    if (typeof found === 'number') add(text.slice(at, at + found));
    else spans.push(...found.spans);
    at += typeof found === 'number' ? found : found.length;
  }
  return { spans, length: at };
}

/** The end of the text, or where an address may begin that has not arrived completely. */
function certainEnd(text: string, from: number, isWhole: boolean): number {
  if (isWhole) return text.length;
  for (let length = Math.min(URL_START.length - 1, text.length - from); length > 0; length--)
    if (['http://', URL_START].some((start) => start.startsWith(text.slice(-length))))
      return text.length - length;
  return text.length;
}

/** @returns spans; the number of characters that are plain text; or undefined if more text is needed. */
function special(source: Source, at: number): Scanned | number | undefined {
  const { text, isWhole, formats } = source;
  const character = text[at] ?? '';
  if (!isWhole && at + 1 >= text.length) return undefined;
  switch (character) {
    case '\\': {
      const next = text[at + 1] ?? '';
      return PUNCTUATION.test(next) ? { spans: [{ text: next, formats }], length: 2 } : 1;
    }
    case '`':
      return codeSpan(source, at);
    case '*':
    case '_':
    case '~':
      return emphasis(source, at);
    case '[':
      return link(source, at);
    case '!': {
      if (text[at + 1] !== '[') return 1;
      const found = link(source, at + 1);
      if (found === undefined || typeof found === 'number') return found === undefined ? undefined : 1;
      return { spans: found.spans, length: found.length + 1 };
    }
    case '<':
      return angleLink(source, at);
    default:
      return bareLink(source, at);
  }
}

function runAt(text: string, at: number): number {
  let end = at;
  while (text[end] === text[at]) end++;
  return end - at;
}

/** Plain, or undecided, if a mark that starts here has no end in the text. */
function unclosed(text: string, at: number, isWhole: boolean, length: number): number | undefined {
  return isWhole || text.length - at >= MAX_SPAN_CHARS ? length : undefined;
}

function codeSpan({ text, isWhole, formats }: Source, at: number): Scanned | number | undefined {
  const run = runAt(text, at);
  if (!isWhole && at + run === text.length) return undefined;
  const end = closingTicks(text, at + run, run, isWhole, at + MAX_SPAN_CHARS);
  if (end === undefined) return unclosed(text, at, isWhole, run);
  const inner = text.slice(at + run, end).replace(/^ (.*\S.*) $/, '$1');
  return { spans: [{ text: inner, formats: [...formats, 'code'] }], length: end + run - at };
}

/** The start of a run of exactly so many backticks. */
function closingTicks(
  text: string,
  from: number,
  run: number,
  isWhole: boolean,
  limit: number,
): number | undefined {
  for (let at = text.indexOf('`', from); at !== -1 && at < limit; ) {
    const length = runAt(text, at);
    if (!isWhole && at + length === text.length) return undefined;
    if (length === run) return at;
    at = text.indexOf('`', at + length);
  }
  return undefined;
}

const EMPHASIS: Readonly<Record<number, readonly InlineFormat[]>> = {
  1: ['italic'],
  2: ['bold'],
  3: ['bold', 'italic'],
};

function emphasis({ text, isWhole, formats, before }: Source, at: number): Scanned | number | undefined {
  const mark = text[at] ?? '';
  const run = runAt(text, at);
  if (!isWhole && at + run === text.length) return undefined;
  const opens = mark === '~' ? run === 2 : run <= 3;
  const previous = text[at - 1] ?? before;
  const after = text[at + run] ?? ' ';
  if (!opens || /\s/.test(after) || (mark === '_' && WORD.test(previous))) return run;
  const close = closingMark(text, at + run, mark, run, isWhole, at + MAX_SPAN_CHARS);
  if (close === undefined) return unclosed(text, at, isWhole, run);
  const added = mark === '~' ? (['strikethrough'] as const) : (EMPHASIS[run] ?? []);
  const { spans } = scanInline(text.slice(at + run, close), true, { formats: [...formats, ...added] });
  return { spans, length: close + run - at };
}

/** The start of the run that closes an emphasis. A run of the other length belongs to a nested one. */
function closingMark(
  text: string,
  from: number,
  mark: string,
  run: number,
  isWhole: boolean,
  limit: number,
): number | undefined {
  let isNested = false;
  for (let at = from; at < text.length && at < limit; at++) {
    const character = text[at];
    if (character === '\\') {
      at++;
      continue;
    }
    if (character === '`') {
      const ticks = runAt(text, at);
      const end = closingTicks(text, at + ticks, ticks, isWhole, at + MAX_SPAN_CHARS);
      // Without an end in sight it may still come, and what is between would be code.
      if (end === undefined && !isWhole && text.length - at < MAX_SPAN_CHARS) return undefined;
      at = (end ?? at) + ticks - 1;
      continue;
    }
    if (character !== mark) continue;
    const length = runAt(text, at);
    if (!isWhole && at + length === text.length) return undefined;
    const isEnd = !/\s/.test(text[at - 1] ?? ' ') && !(mark === '_' && WORD.test(text[at + length] ?? ' '));
    if (length === run && isEnd) return at;
    if (isNested && length === 3 && run < 3 && isEnd) return at + 3 - run;
    if (length !== run && length < 3) isNested = !isNested;
    at += length - 1;
  }
  return undefined;
}

function link({ text, isWhole, formats }: Source, at: number): Scanned | number | undefined {
  const limit = at + MAX_SPAN_CHARS;
  let depth = 0;
  let close = -1;
  for (let end = at; end < text.length && end < limit && close === -1; end++) {
    if (text[end] === '\\') end++;
    else if (text[end] === '[') depth++;
    else if (text[end] === ']' && --depth === 0) close = end;
  }
  if (close === -1) return unclosed(text, at, isWhole, 1);
  if (!isWhole && close + 1 === text.length) return undefined;
  if (text[close + 1] !== '(') return 1;
  const end = closingParenthesis(text, close + 1, limit);
  if (end === undefined) return unclosed(text, at, isWhole, 1);
  const [, href = ''] = /^\s*<?([^\s>]*)>?(?:\s+["'(].*["')])?\s*$/.exec(text.slice(close + 2, end)) ?? [];
  if (href === '') return 1;
  const inner = scanInline(text.slice(at + 1, close), true, { formats: [...formats, 'link'] });
  const spans = inner.spans.length === 0 ? [{ text: href, formats }] : inner.spans;
  return { spans: spans.map((span) => ({ ...span, href })), length: end + 1 - at };
}

function closingParenthesis(text: string, from: number, limit: number): number | undefined {
  let depth = 0;
  for (let at = from; at < text.length && at < limit; at++) {
    if (text[at] === '(') depth++;
    else if (text[at] === ')' && --depth === 0) return at;
  }
  return undefined;
}

function angleLink({ text, isWhole, formats }: Source, at: number): Scanned | number | undefined {
  const end = text.indexOf('>', at);
  const inner = text.slice(at + 1, end === -1 ? undefined : end);
  if (!/^[a-z][\w+.-]*:?[^\s<]*$/i.test(inner)) return 1;
  if (end === -1) return unclosed(text, at, isWhole, 1);
  if (!/^(?:https?|mailto):/i.test(inner)) return 1;
  return { spans: [{ text: inner, formats: [...formats, 'link'], href: inner }], length: end + 1 - at };
}

function bareLink({ text, isWhole, formats }: Source, at: number): Scanned | number | undefined {
  URL_CHARS.lastIndex = at;
  const whole = URL_CHARS.exec(text)?.[0].slice(0, MAX_SPAN_CHARS) ?? '';
  if (!isWhole && at + whole.length === text.length && whole.length < MAX_SPAN_CHARS) return undefined;
  let href = whole.replace(URL_TAIL, '');
  // A parenthesis that the address opened belongs to it.
  if (whole[href.length] === ')' && href.includes('(')) href = whole.slice(0, href.length + 1);
  if (href.length <= URL_START.length) return whole.length;
  return { spans: [{ text: href, formats: [...formats, 'link'], href }], length: href.length };
}
