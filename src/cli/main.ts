import { readFileSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import { printError, say } from './print.ts';
import { registerExport, registerImport } from './register-interop.ts';

const USAGE_EXIT = 2;
const HOME = ['--home <folder>', 'where sessions live, instead of REPRISE_HOME or ~/.reprise'] as const;

type Options = Record<string, unknown>;

/** Loaded when a command needs it: `--version` and `--help` stay quick. */
const home = (): Promise<typeof import('./commands/home.ts')> => import('./commands/home.ts');

/** Runs one command line and leaves its exit code in `process.exitCode`, so that pending output is written. */
export async function main(argv: readonly string[]): Promise<void> {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // The reader of a pipe may leave early (`| head`); that is its right, not our error.
    if (error.code !== 'EPIPE') throw error;
    process.exit(0);
  });
  try {
    await createProgram().parseAsync(argv.length <= 2 ? [...argv, 'chat'] : [...argv]);
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
  reprise                                            chat; goes on where it stopped
  reprise show chat.jsonl                            read a transcript of any dialect
  reprise show chat.jsonl --json --format anthropic  the messages a model would be sent
`,
    )
    .helpOption('-h, --help', 'show this help');
  program
    .command('chat')
    .description('talk to an agent; what "reprise" alone does')
    .option('--model <name>', 'who answers', 'offline')
    .option(...HOME)
    .action(async (options: Options) => (await import('./commands/chat.ts')).chat(options));
  program
    .command('show')
    .description('print a history: of a session, or of a transcript file of any tool')
    .argument('<ref|file>', 'a session, or a .jsonl file: Reprise, pi v1 to v3, claw0, ZyHive, ZeroClaw rows')
    .option('--json', 'print JSON instead of text')
    .option('--format <api>', 'with --json: rebuilt API messages, "anthropic", "openai" or "ai-sdk"')
    .option('--leaf <entry>', 'stand at this entry instead of the last one')
    .option('-n, --limit <count>', 'only the last <count> entries')
    .option(...HOME)
    .action(async (target: string, options: Options) => {
      process.exitCode = await (await import('./commands/show.ts')).show(target, options);
    });
  program
    .command('ls')
    .description('list sessions, newest first; * marks the one its key stands for')
    .argument('[text]', 'only those with this in their title or label')
    .option('--json', 'print JSON instead of text')
    .option('--agent <id>', 'only those of one agent')
    .option('--deleted', 'what is in the trash')
    .option('-n, --limit <count>', 'at most so many', '50')
    .option(...HOME)
    .action(async (text: string | undefined, options: Options) => (await home()).ls(text, options));
  program
    .command('verify')
    .description('read every byte of a session, or of all: exit 0 clean, 1 quarantined, 6 damaged')
    .argument('[ref]')
    .option('--json', 'print JSON instead of text')
    .option(...HOME)
    .action(async (ref: string | undefined, options: Options) => {
      process.exitCode = await (await home()).verify(ref, options);
    });
  program
    .command('repair')
    .description('continue a damaged session in a new one; the old one is kept')
    .argument('<ref>')
    .option('--json', 'print JSON instead of text')
    .option(...HOME)
    .action(async (ref: string, options: Options) => (await home()).repair(ref, options));
  program
    .command('locks')
    .description('who holds which session')
    .option('--json', 'print JSON instead of text')
    .option(...HOME)
    .action(async (options: Options) => (await home()).locks(options));
  program
    .command('doctor')
    .description('what an operator would ask first: exit 0 when nothing wants a look')
    .option('--json', 'print JSON instead of text')
    .option(...HOME)
    .action(async (options: Options) => {
      process.exitCode = await (await import('./commands/doctor.ts')).doctor(options);
    });
  program
    .command('path')
    .description('where the home is, or the transcript of a session')
    .argument('[ref]')
    .option('--json', 'print JSON instead of text')
    .option(...HOME)
    .action(async (ref: string | undefined, options: Options) => (await home()).path(ref, options));
  registerExport(program);
  registerImport(program);
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
