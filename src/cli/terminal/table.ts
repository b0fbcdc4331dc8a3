import { count } from '../../messages/english-format.ts';
import { escapeForTerminal, style } from './print.ts';

export type Cell = string | number;

/** Columns for a terminal: the first to the left, all others, which are figures, to the right. */
export function table(head: readonly string[], rows: readonly (readonly Cell[])[]): string[] {
  const texts = rows.map((row) =>
    row.map((cell) => (typeof cell === 'number' ? count(cell) : escapeForTerminal(cell))),
  );
  const widths = head.map((name, i) => Math.max(name.length, ...texts.map((row) => row[i]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0)))
      .join('  ')
      .trimEnd();
  return [style('bold', line(head)), ...texts.map(line)];
}
