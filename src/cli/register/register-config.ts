import type { Command } from 'commander';
import { addExamples } from '../options.ts';

type Options = Readonly<Record<string, unknown>>;

const config = (): Promise<typeof import('../commands/config.ts')> => import('../commands/config.ts');

/** The flags in the table of settings, repeated here so that `--version` and `--help` start without loading it. */
const FLAGS: readonly (readonly [flags: string, about: string])[] = [
  ['--home <folder>', 'the folder with all data'],
  ['--store <kind>', 'the kind of store'],
  ['--url <address>', 'use the sessions of this server'],
  ['--model <name>', 'the model'],
  ['--host <address>', 'the address on which the server listens'],
  ['--port <number>', 'the port on which the server listens'],
  ['--token-file <file>', 'a file with the server token'],
  ['--log-level <level>', 'the minimum log level'],
  ['--log-format <format>', 'the format of log lines: json or pretty'],
];

/** `reprise config` accepts the flags of all settings, so that people can see their effect. */
export function registerConfig(program: Command): void {
  const command = program
    .command('config')
    .summary('print the settings and where each comes from')
    .description(
      'print every setting that has a value and where it comes from; secrets are masked; options of settings show what they would change, and nothing is stored',
    )
    .option('--json', 'print JSON instead of text');
  for (const [flags, about] of FLAGS) command.option(flags, about);
  command.action(async (options: Options) => (await config()).showConfig(options));
  addExamples(command, ['reprise config', 'REPRISE_PORT=8080 reprise config --json', 'reprise config trust']);
  command
    .command('trust')
    .description(
      'allow the reprise.config.json of this folder to set every setting; repeat after each change of the file',
    )
    .action(async () => (await config()).trustConfig());
}
