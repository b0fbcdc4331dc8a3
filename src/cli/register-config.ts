import type { Command } from 'commander';
import { SETTINGS } from '../config/settings.ts';

type Options = Readonly<Record<string, unknown>>;

const config = (): Promise<typeof import('./commands/config.ts')> => import('./commands/config.ts');

/** `reprise config` takes the flags of all settings, so that one can see what they do. */
export function registerConfig(program: Command): void {
  const command = program
    .command('config')
    .summary('every setting, its value and where it comes from')
    .description('print every setting that has a value and where it comes from; secrets are masked')
    .option('--json', 'print JSON instead of text');
  for (const { flag, about } of SETTINGS) {
    if (flag === undefined) continue;
    const long = flag.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    command.option(`--${long} <value>`, about.replaceAll('`', ''));
  }
  command.action(async (options: Options) => (await config()).showConfig(options));
  command
    .command('trust')
    .description('let reprise.config.json of this folder set everything, until it changes')
    .action(async () => (await config()).trustConfig());
}
