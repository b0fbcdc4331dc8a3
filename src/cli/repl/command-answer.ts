import type { CommandResult } from '../../engine/commands/command-context.ts';
import { type CommandName, findCommand } from '../../engine/commands/commands.ts';
import { barCells, contextPartText } from '../../messages/english/english-commands.ts';
import { messageText } from '../../messages/english.ts';
import { type Message, type MessageOf, sentence } from '../../messages/message.ts';
import { asStarted } from '../started-as.ts';
import { color } from '../terminal/colors.ts';
import { escapeForTerminal, hasColors, print, say, style } from '../terminal/print.ts';
import { wrapFor } from './wrap-text.ts';

/** Their answers are our own words, which may be broken anywhere. */
const WRAPPED: ReadonlySet<CommandName> = new Set(['help', 'status', 'context', 'model', 'queue']);
const BAR_CELLS = 50;
const PART_COLORS: Readonly<Record<string, Parameters<typeof style>[0]>> = {
  system: 'blue',
  tools: 'cyan',
  summary: 'magenta',
  history: 'green',
  newest: 'yellow',
  overhead: 'red',
  margin: 'gray',
  reserve: 'dim',
  free: 'dim',
};

/** An answer that is data goes to stdout, a report of what was done to stderr. */
export function printAnswer(name: CommandName, text: string): void {
  const isData = findCommand(name)?.data === true;
  const safe = escapeForTerminal(text);
  const isWrapped = WRAPPED.has(name);
  (isData ? print : say)(isWrapped ? wrapFor(isData ? process.stdout : process.stderr, safe) : safe);
}

/** The answer message by message, with colors where they carry meaning. */
function printMessages(name: CommandName, messages: readonly Message[]): void {
  if (!hasColors()) {
    printAnswer(name, messages.map(messageText).join('\n'));
    return;
  }
  const isData = findCommand(name)?.data === true;
  const out = isData ? process.stdout : process.stderr;
  for (const message of messages) (isData ? print : say)(colored(message, name, out));
}

/** The code of a failure stands with its cause, before the line that says what to do. */
export function printCommandResult({ name, messages, error }: CommandResult): void {
  if (error === undefined) {
    printMessages(name, messages);
    return;
  }
  const { message, code, details } = error;
  const next =
    typeof details['next'] === 'string' ? `\n${escapeForTerminal(asStarted(details['next']))}` : '';
  say(`${color('error', escapeForTerminal(asStarted(`${sentence(message)} (${code})`)))}${next}`);
}

function colored(message: Message, name: CommandName, out: { readonly columns?: number }): string {
  if (message.code === 'context.bar') return contextBar(message.params, out);
  const text = escapeForTerminal(messageText(message));
  const whole = WRAPPED.has(name) ? wrapFor(out, text) : text;
  if (message.code === 'help.group') return style('bold', whole);
  if (message.code === 'history.message')
    return whole.replace(/^(#\d+ )?(\w+):/, (lead) =>
      color(
        message.params.role === 'user' ? 'user' : message.params.role === 'assistant' ? 'assistant' : 'tool',
        lead,
      ),
    );
  const isCurrent =
    (message.code === 'sessions.row' || message.code === 'model.offer' || message.code === 'tree.branch') &&
    message.params.isCurrent;
  if (isCurrent) return style('bold', whole);
  return message.code === 'model.demo' ? color('warning', whole) : whole;
}

function contextBar(
  { parts, window }: MessageOf<'context.bar'>['params'],
  out: { readonly columns?: number },
): string {
  const width = Math.max(10, Math.min(BAR_CELLS, (out.columns ?? 80) - 2));
  const cells = barCells(parts, window, width);
  const paint = (part: string, text: string): string => style(PART_COLORS[part] ?? 'white', text);
  const mark = (part: string): string => (part === 'free' ? '░' : part === 'reserve' ? '▒' : '█');
  const bar = parts.map(({ name }, i) => paint(name, mark(name).repeat(cells[i] ?? 0))).join('');
  return [
    bar,
    ...parts.map((part) => `${paint(part.name, mark(part.name))} ${contextPartText(part, window)}`),
  ].join('\n');
}
