import type { RepriseError } from '../errors.ts';
import { failure, failureOf } from '../messages/failure.ts';
import type { Message } from '../messages/message.ts';

export interface JsonTextLimits {
  readonly jsonDepth: number;
  readonly jsonValues: number;
}

const WHITESPACE = /[ \t\n\r]/;

/**
 * Checks the text of a body before it is parsed: it refuses values that `JSON.parse` would change silently or that cost
 * too much to parse. One pass without recursion. Invalid JSON is reported by the parser.
 */
export function checkJsonText(text: string, { jsonDepth, jsonValues }: JsonTextLimits): void {
  /** The names in each open object; null for an array. */
  const open: (Set<string> | null)[] = [];
  let values = 0;
  for (let i = 0; i < text.length; i++) {
    const char = text[i];
    if (char === '"') {
      const end = endOfString(text, i);
      const names = open.at(-1);
      if (names !== null && names !== undefined && isName(text, end)) addName(names, text.slice(i, end + 1));
      values = count(values, jsonValues);
      i = end;
    } else if (char === '{' || char === '[') {
      open.push(char === '{' ? new Set() : null);
      if (open.length > jsonDepth)
        throw refused('depth', { code: 'request.bodyTooDeep', params: { max: jsonDepth } }, jsonDepth);
      values = count(values, jsonValues);
    } else if (char === '}' || char === ']') {
      open.pop();
    } else if (char === '-' || (char !== undefined && char >= '0' && char <= '9')) {
      i = checkNumber(text, i);
      values = count(values, jsonValues);
    }
  }
  try {
    JSON.parse(text);
  } catch (cause) {
    throw failure('INVALID_INPUT', 'request.bodyNotJson', {}, { cause });
  }
}

function count(values: number, max: number): number {
  if (values >= max) throw refused('values', { code: 'request.bodyTooManyValues', params: { max } }, max);
  return values + 1;
}

/** The position of the closing quote, or the end of the text for an unclosed string. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text[end - 1 - slashes] === '\\') slashes++;
    if (slashes % 2 === 0) return end;
  }
  return text.length;
}

function isName(text: string, end: number): boolean {
  let next = end + 1;
  while (WHITESPACE.test(text[next] ?? '')) next++;
  return text[next] === ':';
}

/** The parser drops one of two equal names, and `__proto__` can set a prototype. Both are refused. */
function addName(names: Set<string>, quoted: string): void {
  const name = nameOf(quoted);
  if (name === '__proto__') throw refused('name', { code: 'request.bodyPrototype', params: {} });
  if (names.has(name))
    throw refused('duplicate', { code: 'request.bodyDuplicate', params: { name: name.slice(0, 80) } });
  names.add(name);
}

function nameOf(quoted: string): string {
  if (!quoted.includes('\\')) return quoted.slice(1, -1);
  try {
    return String(JSON.parse(quoted));
  } catch {
    return quoted; // the parser reports the error
  }
}

/** Refuses a number that a double cannot represent, because a different one would be stored. */
function checkNumber(text: string, start: number): number {
  let end = start;
  while (/[-+.0-9eE]/.test(text[end] ?? '')) end++;
  const digits = text.slice(start, end);
  const value = Number(digits);
  const isWhole = /^-?\d+$/.test(digits);
  if (!Number.isNaN(value) && (!Number.isFinite(value) || (isWhole && !Number.isSafeInteger(value))))
    throw refused('number', { code: 'request.bodyNumber', params: { number: digits.slice(0, 40) } });
  return end - 1;
}

function refused(limit: string, why: Message, max?: number): RepriseError {
  return failureOf('INVALID_INPUT', why, { details: { limit, ...(max !== undefined && { max }) } });
}
