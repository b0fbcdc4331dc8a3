import { Lexer, type Token, type Tokens } from 'marked';
import { splitBlocks } from './split-blocks.ts';

/**
 * Every rule of the lexer below needs at most the square of the length of what it is given, and some need all of it. So it is
 * given short pieces only, for at most BUDGET_MS per text, and what remains is shown as it was written.
 */
const MAX_CHARS = 200_000;
const MAX_INLINE_CHARS = 2000;
const BUDGET_MS = 150;
/** Drawing thousands of elements takes longer than reading them. */
const MAX_ELEMENTS = 2000;
/** Which emphasis marks belong together takes the square of how many a paragraph has. */
const MAX_DELIMITERS = 2000;
/** Drawing takes more of the stack than reading: a deeper tree would leave no page at all. */
const MAX_DEPTH = 100;

class BoundedLexer extends Lexer {
  readonly #ends: number;

  constructor(ends: number) {
    super({ gfm: true, breaks: true });
    this.#ends = ends;
  }

  override inlineTokens(text: string, tokens: Token[] = []): Token[] {
    const isTooMuch = (text.match(/[*_~]/g)?.length ?? 0) > MAX_DELIMITERS;
    if (isTooMuch) tokens.push(plain(text));
    else
      for (const piece of inlinePieces(text))
        if (performance.now() < this.#ends) super.inlineTokens(piece, tokens);
        else tokens.push(plain(piece));
    return tokens;
  }
}

export function lexText(text: string, budgetMs: number = BUDGET_MS): readonly Token[] {
  if (text.length > MAX_CHARS) return [plain(text)];
  const ends = performance.now() + budgetMs;
  const links: Lexer['tokens']['links'] = {};
  let count = 0;
  return splitBlocks(text).flatMap(({ kind, raw, lang, code }): readonly Token[] => {
    if (kind === 'code') return [{ type: 'code', raw, lang, text: code }];
    if (performance.now() > ends || count > MAX_ELEMENTS) return [asWritten(raw)];
    try {
      const lexer = new BoundedLexer(ends);
      // Definitions of links hold for the whole text.
      Object.assign(lexer.tokens.links, links);
      const tokens =
        kind === 'line'
          ? [{ type: 'paragraph', raw, text: raw, tokens: lexer.inlineTokens(raw) }]
          : lexer.lex(raw);
      Object.assign(links, lexer.tokens.links);
      const size = sizeOf(tokens);
      count += size ?? 0;
      return size === undefined ? [plain(raw)] : count > MAX_ELEMENTS ? [asWritten(raw)] : tokens;
    } catch {
      return [plain(raw)]; // nested deeper than it can follow
    }
  });
}

/** At spaces, as far as there are some. */
function inlinePieces(text: string): readonly string[] {
  if (text.length <= MAX_INLINE_CHARS) return [text];
  const pieces: string[] = [];
  for (let from = 0; from < text.length; ) {
    const limit = from + MAX_INLINE_CHARS;
    const space = limit < text.length ? text.lastIndexOf(' ', limit) : -1;
    const to = space > from ? space + 1 : limit;
    pieces.push(text.slice(from, to));
    from = to;
  }
  return pieces;
}

function plain(text: string): Tokens.Text {
  return { type: 'text', raw: text, text, escaped: false };
}

/** A block of text without markup. */
function asWritten(raw: string): Tokens.Generic {
  return { type: 'raw', raw };
}

/** @returns how many elements the tokens become, undefined if they are nested too deep to be drawn. */
function sizeOf(tokens: readonly Token[]): number | undefined {
  let level = tokens;
  let size = 0;
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) return undefined;
    size += level.filter(({ type }) => !/^(?:text|escape|space)$/.test(type)).length;
    level = level.flatMap(inside);
  }
  return size;
}

function inside(token: Token): readonly Token[] {
  if (token.type === 'list') return (token as Tokens.List).items;
  if (token.type !== 'table') return ('tokens' in token ? token.tokens : undefined) ?? [];
  const { header, rows } = token as Tokens.Table;
  return [header, ...rows].flat().flatMap(({ tokens }) => tokens);
}
