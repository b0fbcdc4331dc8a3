import { oneLine } from '../../engine/commands/command-context.ts';
import { count } from '../../messages/english-format.ts';
import { hasLinks } from '../markdown/links.ts';
import { MarkdownStream } from '../markdown/markdown-stream.ts';
import { color } from '../terminal/colors.ts';
import { escapeForTerminal, hasColors } from '../terminal/print.ts';
import { widthOf } from '../terminal/width.ts';

/** A message of the history, newest last. */
export interface ShownMessage {
  readonly role: string;
  readonly text: string;
}

export interface LastExchangeOptions {
  readonly columns?: number | undefined;
  readonly isPlain?: boolean | undefined;
}

const MAX_QUESTION_CHARS = 300;
const MAX_ANSWER_LINES = 12;

/**
 * How much of a resumed session came before, and its last exchange, so that the user sees where they stopped.
 * @param newest the newest messages; `total` counts all of the session.
 */
export function lastExchange(
  newest: readonly ShownMessage[],
  total: number,
  { columns = 80, isPlain = false }: LastExchangeOptions = {},
): string[] {
  const at = newest.findLastIndex(({ role }) => role === 'user');
  const question = newest[at];
  if (question === undefined) return [];
  const answer = newest
    .slice(at + 1)
    .filter(({ role, text }) => role === 'assistant' && text.trim() !== '')
    .at(-1);
  const shown = answer === undefined ? 1 : 2;
  const before = Math.max(0, total - shown);
  const lines =
    before === 0 ? [] : [color('notice', `… ${count(before)} earlier messages (/history shows them)`)];
  lines.push(`${color('user', '>')} ${escapeForTerminal(oneLine(question.text, MAX_QUESTION_CHARS))}`);
  if (answer !== undefined) lines.push(...rendered(answer.text, columns, isPlain));
  return lines;
}

/** The end of the answer: the user reads on from there. */
function rendered(text: string, columns: number, isPlain: boolean): string[] {
  const stream = new MarkdownStream({ columns: () => columns - 1, links: hasLinks(), colors: hasColors() });
  const whole = isPlain ? escapeForTerminal(text.trimEnd()) : stream.take(text) + stream.end();
  const lines = whole.replace(/\n+$/, '').split('\n');
  const rows = (line: string): number => Math.max(1, Math.ceil(widthOf(line) / columns));
  let left = MAX_ANSWER_LINES;
  let from = lines.length;
  while (from > 0 && left - rows(lines[from - 1] ?? '') >= 0) left -= rows(lines[--from] ?? '');
  return from === 0 ? lines : [color('notice', `… ${count(from)} lines above`), ...lines.slice(from)];
}
