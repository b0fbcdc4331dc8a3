import { style } from '../terminal/print.ts';
import { widthOf } from '../terminal/width.ts';
import { type Span, scanInline } from './inline.ts';
import { LineFiller, type Paint } from './line-filler.ts';

const DELIMITER = /^\s*:?-+:?\s*$/;
const GAP = ' │ ';
/** A narrower column breaks most words, so such a table is printed as a list. */
const MIN_CELL = 8;

type Align = 'left' | 'right' | 'center';

/** @returns the cells of a row; a `|` that is escaped or in code divides nothing. */
function tableCells(line: string): string[] {
  const inner = line
    .trim()
    .replace(/^\|/, '')
    .replace(/(?<!\\)\|$/, '');
  const cells: string[] = [''];
  let isCode = false;
  for (let at = 0; at < inner.length; at++) {
    const character = inner[at] ?? '';
    if (character === '`') isCode = !isCode;
    if (character === '\\' && inner[at + 1] === '|') {
      cells[cells.length - 1] += '|';
      at++;
    } else if (character === '|' && !isCode) cells.push('');
    else cells[cells.length - 1] += character;
  }
  return cells.map((cell) => cell.trim());
}

export function isDelimiterRow(line: string): boolean {
  return tableCells(line).every((cell) => DELIMITER.test(cell));
}

interface TableLook {
  readonly columns: number;
  readonly paint: Paint;
  /** Adds the marks that a span has where it has no color. */
  readonly marked: (span: Span) => Span;
  readonly indent: string;
}

/** Draws a table that fits the terminal: columns shrink and their cells wrap. */
export function drawTable(rows: readonly string[], { columns, paint, marked, indent }: TableLook): string[] {
  const [head = [], aligns = [], ...body] = rows.map(tableCells);
  const cellsOf = (row: readonly string[]): readonly (readonly Span[])[] =>
    head.map((_, i) => scanInline(row[i] ?? '', true).spans.map(marked));
  const header = head.map((cell) => scanInline(cell, true, { formats: ['bold'] }).spans.map(marked));
  const all = [header, ...body.map(cellsOf)];
  const natural = head.map((_, i) => Math.max(3, ...all.map((row) => spansWidth(row[i] ?? [], paint))));
  const room = columns - widthOf(indent) - GAP.length * (head.length - 1);
  const widths = shrink(natural, room);
  if (widths === undefined) return asList(head, body.map(cellsOf), { columns, paint, indent });
  const alignOf = (i: number): Align => {
    const mark = aligns[i] ?? '';
    return mark.endsWith(':') ? (mark.startsWith(':') ? 'center' : 'right') : 'left';
  };
  const gap = style('dim', GAP);
  const draw = (row: readonly (readonly Span[])[]): string[] => {
    const cells = row.map((spans, i) => fill(spans, widths[i] ?? MIN_CELL, paint));
    const height = Math.max(1, ...cells.map(({ length }) => length));
    return Array.from({ length: height }, (_, line) =>
      `${indent}${cells.map((cell, i) => pad(cell[line] ?? '', widths[i] ?? 0, alignOf(i))).join(gap)}`.trimEnd(),
    );
  };
  const rule = style('dim', widths.map((width) => '─'.repeat(width)).join('─┼─'));
  return [...draw(header), indent + rule, ...all.slice(1).flatMap(draw)];
}

/** The widest columns become narrower until all fit. @returns undefined if they would be too narrow to read. */
function shrink(natural: readonly number[], room: number): number[] | undefined {
  const widths = [...natural];
  let over = widths.reduce((sum, width) => sum + width, 0) - room;
  while (over > 0) {
    const widest = widths.indexOf(Math.max(...widths));
    const width = widths[widest] ?? 0;
    if (width <= MIN_CELL) return undefined;
    widths[widest] = width - 1;
    over--;
  }
  return widths;
}

function asList(
  head: readonly string[],
  body: readonly (readonly (readonly Span[])[])[],
  { columns, paint, indent }: { readonly columns: number; readonly paint: Paint; readonly indent: string },
): string[] {
  return body.flatMap((row, at) => {
    const lines = row.flatMap((spans, i) => {
      const name: Span = { text: `${head[i] ?? ''}:`, formats: ['bold'] };
      const space: Span = { text: ' ', formats: [] };
      const filler = new LineFiller(() => columns, paint, { start: indent, hang: `${indent}  ` });
      return `${indent}${[name, space, ...spans].map((span) => filler.add(span)).join('')}${filler.end()}`.split(
        '\n',
      );
    });
    return at === 0 ? lines : ['', ...lines];
  });
}

function fill(spans: readonly Span[], width: number, paint: Paint): string[] {
  const filler = new LineFiller(() => width, paint);
  return `${spans.map((span) => filler.add(span)).join('')}${filler.end()}`.split('\n');
}

function spansWidth(spans: readonly Span[], paint: Paint): number {
  return widthOf(spans.map((span) => paint(span.text, span)).join(''));
}

function pad(text: string, width: number, align: Align): string {
  const missing = Math.max(0, width - widthOf(text));
  if (align === 'right') return ' '.repeat(missing) + text;
  const before = align === 'center' ? Math.floor(missing / 2) : 0;
  return `${' '.repeat(before)}${text}${' '.repeat(missing - before)}`;
}
