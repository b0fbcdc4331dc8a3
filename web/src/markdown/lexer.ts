import { type ReadonlySignal, signal } from '@preact/signals';
import type { Lexer, Token, Tokens } from 'marked';

type Lex = (text: string, options: { readonly gfm: boolean; readonly breaks: boolean }) => readonly Token[];

const loaded = signal<Lex | undefined>(undefined);
/** Undefined until it has come: texts are shown as they are so long. */
export const lexer: ReadonlySignal<Lex | undefined> = loaded;

/** Beside the first conversation, not before it: the page is there without it. */
export async function loadLexer(): Promise<void> {
  loaded.value = makeLex((await import('marked')).Lexer);
}

/** A text that only looks like markup for very long is shown as it is: lexers are not made for it. */
const MAX_CHARS = 200_000;
/** Which of them belong together takes the square of how many a paragraph has. */
const MAX_DELIMITERS = 2000;
/** Drawing takes more of the stack than reading: whatever is deeper would leave no page at all. */
const MAX_DEPTH = 100;

export function makeLex(Base: typeof Lexer): Lex {
  class BoundedLexer extends Base {
    override inlineTokens(text: string, tokens: Token[] = []): Token[] {
      if ((text.match(/[*_~]/g)?.length ?? 0) <= MAX_DELIMITERS) return super.inlineTokens(text, tokens);
      tokens.push(plain(text));
      return tokens;
    }
  }
  return (text, options) => new BoundedLexer(options).lex(text);
}

export function lexText(lex: Lex, text: string): readonly Token[] {
  if (text.length > MAX_CHARS) return [plain(text)];
  try {
    const tokens = lex(text, { gfm: true, breaks: true });
    return isDeep(tokens) ? [plain(text)] : tokens;
  } catch {
    return [plain(text)]; // nested deeper than it can follow
  }
}

function plain(text: string): Tokens.Text {
  return { type: 'text', raw: text, text, escaped: false };
}

function isDeep(tokens: readonly Token[]): boolean {
  let level = tokens;
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) return true;
    level = level.flatMap(inside);
  }
  return false;
}

function inside(token: Token): readonly Token[] {
  if (token.type === 'list') return (token as Tokens.List).items;
  if (token.type !== 'table') return ('tokens' in token ? token.tokens : undefined) ?? [];
  const { header, rows } = token as Tokens.Table;
  return [header, ...rows].flat().flatMap(({ tokens }) => tokens);
}
