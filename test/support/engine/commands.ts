import type { CommandContext, CommandResult } from '../../../src/engine/commands/command-context.ts';
import { parseCommand } from '../../../src/engine/commands/commands.ts';
import { runCommand } from '../../../src/engine/commands/run-command.ts';
import type { Session } from '../../../src/engine/session.ts';
import { entriesOf, type Opened } from './engine.ts';

type At = Pick<Opened<never>, 'reprise' | 'session'>;

/** A line as a person types it. */
export async function run(
  { reprise, session }: At,
  line: string,
  more: Partial<CommandContext> = {},
): Promise<CommandResult> {
  const parsed = parseCommand(line, { surface: more.surface ?? 'repl' });
  if (parsed === undefined || !('name' in parsed)) throw new Error(`${line} is no command`);
  return runCommand(parsed, { reprise, session, surface: 'repl', ...more });
}

export async function messageCount(session: Session): Promise<number> {
  return (await entriesOf(session)).filter(({ type }) => type === 'message').length;
}
