import { color, type Meaning } from '../terminal/colors.ts';

interface Grammar {
  readonly keywords: ReadonlySet<string>;
  readonly comment?: string;
  readonly block?: readonly [open: string, close: string];
  /** Strings that may span several lines. */
  readonly longStrings?: readonly string[];
}

const words = (text: string): ReadonlySet<string> => new Set(text.split(' '));

const C_LIKE =
  'abstract as async await break case catch class const continue default defer delete do else enum export extends extern false final finally fn for from func function go if impl implements import in interface let loop match module mut namespace new nil null of override package private protected pub public return select self static struct super switch this throw throws trait true try type typeof undefined unsafe use using val var virtual void where while yield';
const PYTHON =
  'and as assert async await break class continue def del elif else except False finally for from global if import in is lambda match None nonlocal not or pass raise return self True try while with yield';
const SHELL =
  'case do done elif else esac export fi for function if in local return set source then unset until while cd echo exit sudo';
const SQL =
  'select from where insert into values update set delete create table index view drop alter add primary key foreign references not null unique default join left right inner outer on group by order having limit offset as and or in is like between case when then else end distinct union all with begin commit rollback';
const RUBY =
  'alias and begin break case class def defined do else elsif end ensure false for if in module next nil not or redo require rescue retry return self super then true undef unless until when while yield';

const CURLY: Grammar = {
  keywords: words(C_LIKE),
  comment: '//',
  block: ['/*', '*/'],
  longStrings: ['`'],
};
const HASH: Grammar = { keywords: words('true false null yes no on off'), comment: '#' };
const GRAMMARS: readonly (readonly [names: string, grammar: Grammar])[] = [
  [
    'js jsx mjs cjs javascript ts tsx typescript java kotlin kt c h cpp c++ cc cs csharp go golang rust rs swift scala dart php zig proto json json5 jsonc jsonl css scss less',
    CURLY,
  ],
  ['py python python3 pyi', { keywords: words(PYTHON), comment: '#', longStrings: ['"""', "'''"] }],
  [
    'sh bash zsh shell console fish dockerfile docker makefile make',
    { keywords: words(SHELL), comment: '#' },
  ],
  ['sql psql mysql sqlite', { keywords: words(SQL), comment: '--', block: ['/*', '*/'] }],
  ['rb ruby elixir ex', { keywords: words(RUBY), comment: '#' }],
  ['lua haskell hs', { keywords: words(C_LIKE), comment: '--' }],
  ['yaml yml toml ini conf r perl pl nix tf hcl', HASH],
  ['html xml svg vue svelte', { keywords: words(''), block: ['<!--', '-->'] }],
];
const BY_NAME: ReadonlyMap<string, Grammar> = new Map(
  GRAMMARS.flatMap(([names, grammar]) => names.split(' ').map((name) => [name, grammar] as const)),
);

/** Longer lines stay plain: they are data, and colors do not help to read them. */
const MAX_LINE_CHARS = 2000;
const TOKEN =
  /(?:0x[\da-f]+|\d[\d_]*(?:\.\d+)?)\b|[\p{L}_$@][\p{L}\p{N}_$]*|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`(?:\\.|[^`\\])*`/iuy;

/** Colors one line of code after the other; the cost of a line depends on its length only. */
export class CodeColors {
  readonly #grammar: Grammar | undefined;
  readonly #isDiff: boolean;
  /** The mark that ends the comment or string which an earlier line began. */
  #open: { readonly close: string; readonly meaning: Meaning } | undefined;

  constructor(language: string) {
    const name = language.toLowerCase();
    this.#grammar = BY_NAME.get(name);
    this.#isDiff = name === 'diff' || name === 'patch';
  }

  line(text: string): string {
    if (this.#isDiff) return diffLine(text);
    const grammar = this.#grammar;
    return grammar === undefined || text.length > MAX_LINE_CHARS ? text : this.#colored(text, grammar);
  }

  #colored(text: string, { keywords, comment, block, longStrings = [] }: Grammar): string {
    let out = '';
    let at = 0;
    while (at < text.length) {
      if (this.#open !== undefined) {
        const { close, meaning } = this.#open;
        const end = text.indexOf(close, at);
        const to = end === -1 ? text.length : end + close.length;
        out += color(meaning, text.slice(at, to));
        if (end !== -1) this.#open = undefined;
        at = to;
        continue;
      }
      if (comment !== undefined && text.startsWith(comment, at) && isCommentPlace(text, at, comment))
        return out + color('comment', text.slice(at));
      if (block !== undefined && text.startsWith(block[0], at)) {
        this.#open = { close: block[1], meaning: 'comment' };
        out += color('comment', block[0]);
        at += block[0].length;
        continue;
      }
      const long = longStrings.find((mark) => text.startsWith(mark, at));
      if (long !== undefined) {
        this.#open = { close: long, meaning: 'string' };
        out += color('string', long);
        at += long.length;
        continue;
      }
      TOKEN.lastIndex = at;
      const token = TOKEN.exec(text)?.[0];
      if (token === undefined) out += text[at++];
      else {
        out += colorToken(token, keywords);
        at += token.length;
      }
    }
    return out;
  }
}

/** In a shell `#` begins a comment only at the start of a word, and `//` in an address begins none. */
function isCommentPlace(text: string, at: number, comment: string): boolean {
  const before = text[at - 1] ?? ' ';
  return comment === '//' ? before !== ':' : /\s/.test(before);
}

function colorToken(token: string, keywords: ReadonlySet<string>): string {
  if (/^["'`]/.test(token)) return color('string', token);
  if (/^\d/.test(token)) return color('number', token);
  const isKeyword = keywords.has(token) || (keywords.has('select') && keywords.has(token.toLowerCase()));
  return isKeyword ? color('keyword', token) : token;
}

function diffLine(text: string): string {
  if (/^(?:\+\+\+|---|@@|diff|index)/.test(text)) return color('comment', text);
  if (text.startsWith('+')) return color('added', text);
  return text.startsWith('-') ? color('removed', text) : text;
}
