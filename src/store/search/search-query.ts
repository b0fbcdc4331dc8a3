import { failure } from '../../messages/failure.ts';
import { quotedValue } from '../../messages/quoted.ts';
import type { SearchQuery } from '../port/search.ts';
import { flatText, foldCase } from './search-text.ts';

/** Longer queries are refused: each word has a cost. */
const SEARCH_QUERY_CHARS = 16 * 1024;
/** Default time limit, about as long as a person waits. */
export const SEARCH_BUDGET_MS = 1000;
export const SEARCH_LIMIT = 20;

const SPACE = /\s/;

/**
 * The words that a text must contain, in any order and anywhere: folded, each once. White space separates words. A
 * quotation mark at the start of a word begins a phrase, up to the next mark at the end of a word; a single mark is
 * an ordinary character. There is no other syntax.
 */
export function searchWords(text: string): string[] {
  const words = new Set<string>();
  let hasClosing = true;
  for (let at = 0; at < text.length; ) {
    if (SPACE.test(text[at] ?? '')) {
      at++;
      continue;
    }
    const close = hasClosing && text[at] === '"' ? closingQuote(text, at + 1) : undefined;
    // If one search for a closing mark fails, later ones would fail too; this keeps a text of quotation marks cheap.
    if (close === -1) hasClosing = false;
    const phrase = close === undefined || close === -1 ? '' : text.slice(at + 1, close).trim();
    const end = phrase === '' ? wordEnd(text, at) : (close ?? 0) + 1;
    words.add(foldCase(flatText(phrase === '' ? text.slice(at, end) : phrase)));
    at = end;
  }
  return [...words];
}

function wordEnd(text: string, from: number): number {
  let end = from;
  while (end < text.length && !SPACE.test(text[end] ?? '')) end++;
  return end;
}

/** The next mark at the end of a word; -1 if there is no such mark. */
function closingQuote(text: string, from: number): number {
  for (let at = text.indexOf('"', from); at !== -1; at = text.indexOf('"', at + 1))
    if (at + 1 === text.length || SPACE.test(text[at + 1] ?? '')) return at;
  return -1;
}

/** Validates a query before any work is done. */
export function checkSearch({ text, limit, budgetMs, after }: SearchQuery): void {
  if (typeof text !== 'string')
    throw failure('INVALID_INPUT', 'value.wrong', {
      field: 'text',
      value: text === undefined ? null : quotedValue(text),
      expected: [{ is: 'text' }],
    });
  if (text.length > SEARCH_QUERY_CHARS)
    throw failure(
      'LIMIT_EXCEEDED',
      'search.tooLong',
      { characters: text.length, max: SEARCH_QUERY_CHARS },
      { details: { limit: 'query', max: SEARCH_QUERY_CHARS } },
    );
  if (limit !== undefined && !(Number.isSafeInteger(limit) && limit >= 1))
    throw failure('INVALID_INPUT', 'value.wrong', {
      field: 'limit',
      value: quotedValue(limit),
      expected: [{ is: 'integer', min: 1 }],
    });
  if (budgetMs !== undefined && !(budgetMs >= 0))
    throw failure('INVALID_INPUT', 'value.wrong', {
      field: 'budgetMs',
      value: quotedValue(budgetMs),
      expected: [{ is: 'number', min: 0 }],
    });
  if (after !== undefined) parseSearchCursor(after);
}

/** The position of a hit: newest first, with a fixed order for equal times. */
export interface SearchPlace {
  readonly at: number;
  readonly id: string;
  readonly seq: number;
}

/** Negative if the first position comes before the second. */
export function compareSearchPlaces(a: SearchPlace, b: SearchPlace): number {
  if (a.at !== b.at) return b.at - a.at;
  if (a.id !== b.id) return a.id < b.id ? 1 : -1;
  return b.seq - a.seq;
}

export function formatSearchCursor({ at, id, seq }: SearchPlace): string {
  return Buffer.from(JSON.stringify([at, id, seq])).toString('base64url');
}

export function parseSearchCursor(cursor: string): SearchPlace {
  try {
    const [at, id, seq] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[];
    if (Number.isSafeInteger(at) && typeof id === 'string' && Number.isSafeInteger(seq))
      return { at: at as number, id, seq: seq as number };
  } catch {
    // Not one of our cursors; reported below.
  }
  throw failure(
    'INVALID_INPUT',
    'search.badCursor',
    {},
    { details: { cursor: String(cursor).slice(0, 100) } },
  );
}
