import type { CommandResult } from '../../engine/commands/command-context.ts';
import { type CommandName, findCommand } from '../../engine/commands/commands.ts';
import { sentence } from '../../messages/message.ts';
import { asStarted } from '../started-as.ts';
import { escapeForTerminal, print, say } from '../terminal/print.ts';
import { wrapFor } from './wrap-text.ts';

/** Their answers are our own words, which may be broken anywhere. */
const WRAPPED: ReadonlySet<CommandName> = new Set(['help', 'status', 'context', 'model', 'queue']);

/** An answer that is data goes to stdout, a report of what was done to stderr. */
export function printAnswer(name: CommandName, text: string): void {
  const isData = findCommand(name)?.data === true;
  const safe = escapeForTerminal(text);
  const isWrapped = WRAPPED.has(name);
  (isData ? print : say)(isWrapped ? wrapFor(isData ? process.stdout : process.stderr, safe) : safe);
}

/** The code of a failure stands with its cause, before the line that says what to do. */
export function printCommandResult({ name, text, error }: CommandResult): void {
  if (error === undefined) {
    printAnswer(name, text);
    return;
  }
  const { message, code, details } = error;
  const next = typeof details['next'] === 'string' ? `\n${details['next']}` : '';
  say(escapeForTerminal(asStarted(`${sentence(message)} (${code})${next}`)));
}
