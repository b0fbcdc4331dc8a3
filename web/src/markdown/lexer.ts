import { type ReadonlySignal, signal } from '@preact/signals';
import type { Token, Tokens } from 'marked';

type Lex = (text: string, options: { readonly gfm: boolean; readonly breaks: boolean }) => readonly Token[];

const loaded = signal<Lex | undefined>(undefined);
/** Undefined until it has come: texts are shown as they are so long. */
export const lexer: ReadonlySignal<Lex | undefined> = loaded;

/** Beside the first conversation, not before it: the page is there without it. */
export async function loadLexer(): Promise<void> {
  const { Lexer } = await import('marked');
  loaded.value = (text, options) => Lexer.lex(text, options);
}

/** A text that only looks like markup for very long is shown as it is: lexers are not made for it. */
const MAX_CHARS = 200_000;

export function lexText(lex: Lex, text: string): readonly Token[] {
  const plain: Tokens.Text = { type: 'text', raw: text, text, escaped: false };
  if (text.length > MAX_CHARS) return [plain];
  try {
    return lex(text, { gfm: true, breaks: true });
  } catch {
    return [plain]; // nested deeper than it can follow
  }
}
