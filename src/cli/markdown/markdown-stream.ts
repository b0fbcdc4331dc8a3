import { color } from '../terminal/colors.ts';
import { escapeForTerminal, style } from '../terminal/print.ts';
import { graphemes, widthOf } from '../terminal/width.ts';
import { CodeColors } from './code-colors.ts';
import { type InlineFormat, type Span, scanInline } from './inline.ts';
import { LineFiller } from './line-filler.ts';
import { linkText, needsAddress } from './links.ts';
import { drawTable, isDelimiterRow } from './table.ts';

export interface MarkdownOptions {
  /** The width of the terminal; asked again for every line, because the user may resize it. */
  readonly columns: () => number;
  /** The terminal shows OSC 8 links. */
  readonly links: boolean;
  /** Without colors, code keeps its backticks. */
  readonly colors: boolean;
}

interface Fence {
  readonly mark: string;
  readonly indent: number;
  readonly colors: CodeColors;
}

/** What stands before the text of a line: quote marks, indentation, a list mark. */
interface Lead {
  readonly start: string;
  readonly hang: string;
  /** The text after it. */
  readonly rest: string;
  readonly depth: number;
  readonly indent: number;
}

interface Filling {
  readonly filler: LineFiller;
  readonly formats: readonly InlineFormat[];
  readonly isHeading: boolean;
  readonly isQuote: boolean;
  /** The last character that was understood. */
  before: string;
}

const RULE_CELLS = 40;
/** A table is drawn when it ends. A longer one is drawn in parts, so that not everything waits. */
const MAX_TABLE_ROWS = 200;
const RULE = /^(?:-[ -]*-[ -]*-|\*[ *]*\*[ *]*\*|_[ _]*_[ _]*_)[ ]*$/;
/** The start of a line that may still become a heading, rule, list, quote, fence, table or task. */
const UNDECIDED = /^(?:#{1,6}|[-*_+ ]+|\d{1,9}[.)]?|`{1,2}|~{1,2}|\[[ xX]?\]?|)$/;
const FENCE = /^(`{3,}|~{3,})\s*([^\s`]*)[^`]*$/;
const MAX_INDENT = 12;

/**
 * Renders Markdown for a terminal while it arrives. What was written never changes, so nothing has to be erased, and
 * the result depends only on the text and the width, never on how the text was cut into pieces. A word is written
 * when its end is known; a line of code when it is complete; a table when it ends.
 */
export class MarkdownStream {
  readonly #options: MarkdownOptions;
  /** The part of the current source line that is not written yet. */
  #line = '';
  #fence: Fence | undefined;
  #table: { readonly lead: Lead; readonly rows: string[]; readonly lines: string[] } | undefined;
  /** The line that is being filled. */
  #filling: Filling | undefined;
  #wasBlank = true;

  constructor(options: MarkdownOptions) {
    this.#options = options;
  }

  /** Something arrived that cannot be shown yet, such as the rows of a table. */
  get isHolding(): boolean {
    return this.#table !== undefined || this.#line.length > 40;
  }

  /** @returns the text to print now. */
  take(text: string): string {
    const parts = escapeForTerminal(text.replaceAll('\r', '')).split('\n');
    let out = '';
    for (const [at, part] of parts.entries()) {
      this.#line += part;
      if (at < parts.length - 1) out += this.#wholeLine();
    }
    return out + this.#partOfLine();
  }

  /** The text has ended. */
  end(): string {
    let out = this.#line === '' && this.#filling === undefined ? '' : this.#wholeLine();
    out += this.#endTable();
    if (this.#fence !== undefined) out += this.#endFence();
    this.#wasBlank = true;
    return out;
  }

  #wholeLine(): string {
    const line = this.#line;
    this.#line = '';
    if (this.#filling !== undefined) {
      const out = this.#fill(line, true) + this.#filling.filler.end();
      this.#filling = undefined;
      return `${out}\n`;
    }
    const fence = this.#fence;
    if (fence !== undefined) return this.#codeLine(line, fence);
    const lead = readLead(line);
    if (isTableLine(lead.rest)) return this.#tableLine(line, lead);
    return this.#endTable() + this.#block(line, lead);
  }

  /** A complete line outside of code and tables. */
  #block(line: string, lead: Lead): string {
    if (line.trim() === '') {
      if (this.#wasBlank) return '';
      this.#wasBlank = true;
      return '\n';
    }
    this.#wasBlank = false;
    const [, mark, language = ''] = FENCE.exec(lead.rest) ?? [];
    if (mark !== undefined) return this.#beginFence(mark, language, lead);
    if (RULE.test(lead.rest)) return `${lead.start}${style('dim', this.#rule(''))}\n`;
    const begun = this.#begin(lead);
    const out = begun + this.#fill(this.#line, true) + (this.#filling?.filler.end() ?? '');
    this.#line = '';
    this.#filling = undefined;
    return `${out}\n`;
  }

  /** Writes what is certain of an incomplete line. */
  #partOfLine(): string {
    if (this.#fence !== undefined || this.#line === '') return '';
    // The last character may still change: an accent or the rest of an emoji may follow.
    const last = graphemes(this.#line).at(-1) ?? '';
    const certain = this.#line.slice(0, this.#line.length - last.length);
    if (this.#filling !== undefined) return this.#fillCertain(certain, last);
    const lead = readLead(certain);
    const isUndecided =
      certain.trim() === '' || UNDECIDED.test(lead.rest) || /^(?:`{3}|~{3}|\|)/.test(lead.rest);
    if (isUndecided || RULE.test(lead.rest)) return '';
    this.#wasBlank = false;
    const before = this.#endTable();
    const begun = this.#begin(lead);
    return before + begun + this.#fillCertain(this.#line, last);
  }

  #fillCertain(certain: string, last: string): string {
    this.#line = certain;
    const out = this.#fill(certain, false);
    this.#line += last;
    return out;
  }

  /** Begins to fill a line and keeps the text after its lead. */
  #begin(lead: Lead): string {
    const [, marks] = /^(#{1,6})\s+/.exec(lead.rest) ?? [];
    const isHeading = marks !== undefined;
    this.#line = isHeading ? lead.rest.replace(/^#{1,6}\s+/, '') : lead.rest;
    const { start, hang } = lead;
    const filler = new LineFiller(this.#options.columns, (text, span) => this.#paint(text, span), {
      start,
      hang,
    });
    this.#filling = { filler, formats: [], isHeading, isQuote: lead.depth > 0, before: ' ' };
    return start;
  }

  /** Writes as much of the text as can be understood; the rest stays for later. */
  #fill(text: string, isWhole: boolean): string {
    const filling = this.#filling;
    if (filling === undefined) return '';
    const source = isWhole && filling.isHeading ? text.replace(/\s+#+\s*$/, '') : text;
    const { spans, length } = scanInline(source, isWhole, filling);
    this.#line = source.slice(length);
    filling.before = source[length - 1] ?? filling.before;
    let out = '';
    for (const [at, span] of spans.entries()) {
      out += filling.filler.add(this.#marked(span));
      const { href } = span;
      if (href === undefined || spans[at + 1]?.href === href) continue;
      const shown = spans
        .filter((one) => one.href === href)
        .map((one) => one.text)
        .join('');
      if (needsAddress(shown, href, this.#options.links))
        out += filling.filler.add({ text: ` (${href})`, formats: [] });
    }
    return out;
  }

  /** Without colors, code keeps its backticks. They are part of the text, so that lines wrap where they end. */
  #marked(span: Span): Span {
    const isMarked = !this.#options.colors && span.formats.includes('code');
    return isMarked ? { ...span, text: `\`${span.text}\`` } : span;
  }

  #paint(text: string, { formats, href }: Span): string {
    if (text === '') return '';
    if (text === ' ') return text;
    let shown = text;
    for (const format of formats) {
      if (format === 'code') shown = color('code', shown);
      else if (format === 'link') shown = linkText(shown, href ?? '', this.#options.links);
      else shown = style(format, shown);
    }
    if (this.#filling?.isHeading === true) return color('heading', shown);
    return this.#filling?.isQuote === true ? style('italic', shown) : shown;
  }

  #beginFence(mark: string, language: string, { start, indent }: Lead): string {
    this.#fence = { mark, indent, colors: new CodeColors(language) };
    return `${start}${style('dim', this.#rule(language))}\n`;
  }

  #codeLine(line: string, fence: Fence): string {
    const { mark, indent, colors } = fence;
    const own = line.replace(new RegExp(`^ {0,${indent}}`), '');
    const close = /^ {0,3}(`+|~+)\s*$/.exec(own)?.[1];
    if (close?.startsWith(mark) === true) return this.#endFence();
    return `${' '.repeat(indent)}${colors.line(own)}\n`;
  }

  #endFence(): string {
    const indent = ' '.repeat(this.#fence?.indent ?? 0);
    this.#fence = undefined;
    this.#wasBlank = false;
    return `${indent}${style('dim', this.#rule(''))}\n`;
  }

  #rule(name: string): string {
    const cells = Math.max(4, Math.min(RULE_CELLS, this.#options.columns() - MAX_INDENT));
    return name === ''
      ? '─'.repeat(cells)
      : `── ${name} ${'─'.repeat(Math.max(2, cells - widthOf(name) - 4))}`;
  }

  #tableLine(line: string, lead: Lead): string {
    this.#wasBlank = false;
    this.#table ??= { lead, rows: [], lines: [] };
    this.#table.rows.push(lead.rest);
    this.#table.lines.push(line);
    if (this.#table.rows.length < MAX_TABLE_ROWS) return '';
    const [head = '', delimiter = ''] = this.#table.rows;
    const { lead: first } = this.#table;
    const out = this.#endTable();
    // The next part has the same head.
    this.#table = { lead: first, rows: [head, delimiter], lines: [] };
    return out;
  }

  #endTable(): string {
    const table = this.#table;
    this.#table = undefined;
    if (table === undefined) return '';
    const { rows, lines, lead } = table;
    if (rows.length < 2 || !isDelimiterRow(rows[1] ?? ''))
      return lines.map((line) => this.#block(line, readLead(line))).join('');
    if (lines.length === 0) return '';
    const drawn = drawTable(rows, {
      columns: this.#options.columns(),
      paint: (text, span) => this.#paint(text, span),
      marked: (span) => this.#marked(span),
      indent: lead.start,
    });
    return `${drawn.join('\n')}\n`;
  }
}

function isTableLine(rest: string): boolean {
  return rest.startsWith('|');
}

function readLead(line: string): Lead {
  let rest = line;
  let depth = 0;
  for (let match = /^ {0,3}> ?/.exec(rest); match !== null; match = /^ {0,3}> ?/.exec(rest)) {
    rest = rest.slice(match[0].length);
    depth++;
  }
  const [spaces = ''] = /^[ \t]*/.exec(rest) ?? [];
  rest = rest.slice(spaces.length);
  const indent = Math.min(MAX_INDENT, spaces.replaceAll('\t', '    ').length);
  const quote = style('dim', '│ ').repeat(depth);
  const left = quote + ' '.repeat(indent);
  const [mark, bullet = '', task] = /^((?:[-*+])|\d{1,9}[.)])[ \t]+(\[[ xX]\][ \t]+)?/.exec(rest) ?? [];
  if (mark === undefined || RULE.test(rest)) return { start: left, hang: left, rest, depth, indent };
  const shown = /\d/.test(bullet) ? bullet : task === undefined ? '•' : /x/i.test(task) ? '☑' : '☐';
  const hang = left + ' '.repeat(widthOf(shown) + 1);
  return {
    start: `${left}${color('notice', shown)} `,
    hang,
    rest: rest.slice(mark.length),
    depth,
    indent: indent + widthOf(shown) + 1,
  };
}
