import type { Command } from 'commander';
import { addExamples } from './options.ts';

type Options = Readonly<Record<string, unknown>>;

const config = (): Promise<typeof import('./commands/config.ts')> => import('./commands/config.ts');

/** Those of the table of settings, which is not loaded for this: `--version` and `--help` stay quick. */
const FLAGS: readonly (readonly [flags: string, about: string])[] = [
  ['--home <folder>', 'where sessions live'],
  ['--store <kind>', 'how they are kept'],
  ['--url <address>', 'a server that has them'],
  ['--model <name>', 'who answers'],
  ['--host <address>', 'where the server listens'],
  ['--port <number>', 'and on which port'],
  ['--token-file <file>', 'a file with its token'],
  ['--log-level <level>', 'from when on a line is logged'],
  ['--log-format <format>', 'json or pretty'],
];

/** `reprise config` takes the flags of all settings, so that one can see what they do. */
export function registerConfig(program: Command): void {
  const command = program
    .command('config')
    .summary('every setting, its value and where it comes from')
    .description('print every setting that has a value and where it comes from; secrets are masked')
    .option('--json', 'print JSON instead of text');
  for (const [flags, about] of FLAGS) command.option(flags, about);
  command.action(async (options: Options) => (await config()).showConfig(options));
  addExamples(command, ['reprise config', 'REPRISE_PORT=8080 reprise config --json', 'reprise config trust']);
  command
    .command('trust')
    .description('let reprise.config.json of this folder set everything, until it changes')
    .action(async () => (await config()).trustConfig());
}
