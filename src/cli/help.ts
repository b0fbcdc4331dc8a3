import { type Command, Help } from 'commander';

const COLUMNS = 80;

/** All commands on one screen: one line each, grouped by purpose, then the options of several commands. */
export function configureHelp(program: Command): void {
  program.configureHelp({
    formatHelp(command, helper) {
      if (command.parent !== null) return Help.prototype.formatHelp.call(helper, command, helper);
      return rootHelp(command, helper);
    },
    // The text already names the environment variable.
    optionDescription: ({ description, defaultValue }) =>
      defaultValue === undefined ? description : `${description} (default: ${String(defaultValue)})`,
  });
}

function rootHelp(program: Command, helper: Help): string {
  const commands = helper.visibleCommands(program);
  const width = Math.max(...commands.map((command) => command.name().length));
  const groups = Map.groupBy(commands, (command) => command.helpGroup());
  const lines = [...groups].flatMap(([heading, members]) => [
    heading,
    ...members.map((command) => `  ${command.name().padEnd(width)}  ${summaryOf(command)}`),
  ]);
  const flags = helper.visibleOptions(program).map(({ flags }) => flags);
  return [
    `Usage: ${helper.commandUsage(program)}`,
    '',
    ...lines,
    ...fold('Common options: ', flags),
    '"reprise <command> --help" shows what a command accepts; docs/cli.md has all.',
    '',
  ].join('\n');
}

function summaryOf(command: Command): string {
  return command.summary() || command.description();
}

function fold(heading: string, words: readonly string[]): string[] {
  const lines: string[] = [];
  let line = heading;
  for (const [i, word] of words.entries()) {
    const next = `${word}${i === words.length - 1 ? '' : ', '}`;
    if ((line + next).trimEnd().length > COLUMNS) {
      lines.push(line.trimEnd());
      line = '  ';
    }
    line += next;
  }
  return [...lines, line.trimEnd()];
}
