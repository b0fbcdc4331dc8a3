import { type CommandName, findCommand } from '../../engine/commands.ts';
import { escapeForTerminal, print, say } from '../print.ts';
import { wrapFor } from './wrap-text.ts';

/** Of our own words, which may be broken anywhere. */
const LISTINGS: ReadonlySet<CommandName> = new Set(['help', 'status', 'context', 'model', 'queue']);

/** What was asked for is data, a word about what was done is talk, as is why it was not. */
export function tellCommand(
  name: CommandName,
  text: string,
  { isDone = true }: { readonly isDone?: boolean } = {},
): void {
  const isData = isDone && findCommand(name)?.data === true;
  const safe = escapeForTerminal(text);
  const isBroken = isDone && LISTINGS.has(name);
  (isData ? print : say)(isBroken ? wrapFor(isData ? process.stdout : process.stderr, safe) : safe);
}
