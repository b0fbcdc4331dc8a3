import { readFileSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import { printError, say } from './print.ts';

const USAGE_EXIT = 2;

/** Runs one command line and leaves its exit code in `process.exitCode`, so that pending output is written. */
export async function main(argv: readonly string[]): Promise<void> {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // The reader of a pipe may leave early (`| head`); that is its right, not our error.
    if (error.code !== 'EPIPE') throw error;
    process.exit(0);
  });
  try {
    if (argv.length <= 2) await (await import('./commands/tour.ts')).tour();
    else await createProgram().parseAsync([...argv]);
  } catch (error) {
    if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : USAGE_EXIT;
    else process.exitCode = printError(error);
  }
}

function createProgram(): Command {
  const program = new Command('reprise')
    .description('Conversations that survive: a session engine for AI agents.')
    .version(version(), '-V, --version')
    .configureHelp({ sortSubcommands: true })
    .exitOverride()
    .showHelpAfterError('Run "reprise --help" for what there is.')
    .addHelpText(
      'beforeAll',
      `Examples:
  reprise show chat.jsonl                            read a transcript of any dialect
  reprise show chat.jsonl --json --format anthropic  the messages a model would be sent
`,
    )
    .helpOption('-h, --help', 'show this help');
  program
    .command('show')
    .description('print the history in a transcript file, whatever tool wrote it')
    .argument('<file>', 'a .jsonl transcript: Reprise, pi v1 to v3, claw0, ZyHive, or ZeroClaw rows')
    .option('--json', 'print JSON instead of text')
    .option('--format <api>', 'with --json: rebuilt API messages, "anthropic", "openai" or "ai-sdk"')
    .option('--leaf <entry>', 'stand at this entry instead of the last one')
    .option('-n, --limit <count>', 'only the last <count> entries')
    .action(async (file: string, options: Record<string, unknown>) => {
      const { show } = await import('./commands/show.ts');
      process.exitCode = await show(file, options);
    });
  return program;
}

function version(): string {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  return version;
}

process.on('uncaughtException', (error) => {
  say(`reprise: a bug in reprise itself, please report it:\n${error.stack ?? String(error)}`);
  process.exit(1);
});
