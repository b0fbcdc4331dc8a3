import { Command, CommanderError } from 'commander';
import { configureHelp } from './help.ts';
import {
  ANYWHERE,
  addExamples,
  addGlobals,
  declareGlobals,
  LOCAL,
  type Options,
  optionNamed,
  textOption,
} from './options.ts';
import { registerCare } from './register/register-care.ts';
import { registerChanges } from './register/register-changes.ts';
import { addChatOptions } from './register/register-chat.ts';
import { registerConfig } from './register/register-config.ts';
import { registerCopies } from './register/register-copies.ts';
import { registerExport, registerImport, registerResume } from './register/register-interop.ts';
import { registerMcp } from './register/register-mcp.ts';
import { registerReads } from './register/register-reads.ts';
import { escapeForTerminal, printError, say } from './terminal/print.ts';
import { packageVersion } from './version.ts';

const USAGE_EXIT = 2;

/** Runs one command line and leaves its exit code in `process.exitCode`, so that pending output is written. */
export async function main(argv: readonly string[]): Promise<void> {
  process.on('uncaughtException', (error) => {
    say(`reprise: a bug in reprise itself, please report it:\n${error.stack ?? String(error)}`);
    process.exit(1);
  });
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      // The reader of a pipe may leave early (`| head`); that is its right, not our error.
      if (error.code !== 'EPIPE') throw error;
      process.exit(0);
    });
  }
  const program = createBare();
  const words = withDefaultCommand(program, withHelpOption(argv));
  addCommands(program, commandIn(program, words.slice(2)));
  try {
    await program.parseAsync(words);
  } catch (error) {
    if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : USAGE_EXIT;
    else process.exitCode = printError(error);
  }
}

/**
 * Every command with its options, or those of one part; what a command does is loaded when it is run, so that all
 * others stay quick.
 */
export function createProgram(name?: string): Command {
  const program = createBare();
  addCommands(program, name);
  return program;
}

interface Part {
  /** Commands that can be run without the others being known. */
  readonly names: readonly string[];
  readonly register: (program: Command) => void;
}

const PARTS: readonly Part[] = [
  { names: ['chat', 'serve', 'token'], register: registerTalk },
  { names: ['ls', 'search', 'show', 'tail', 'explain', 'stats'], register: registerReads },
  {
    names: ['rename', 'fork', 'compact', 'undo', 'redo', 'stop', 'rm', 'restore', 'purge', 'prune'],
    register: registerChanges,
  },
  { names: ['verify', 'repair', 'locks', 'doctor', 'path', 'demo'], register: registerCare },
  { names: ['migrate', 'backup'], register: registerCopies },
  { names: ['config'], register: registerConfig },
  { names: ['export'], register: registerExport },
  { names: ['import'], register: registerImport },
  { names: ['resume'], register: registerResume },
  { names: ['mcp'], register: registerMcp },
];

/** Making all of them takes longer than listing sessions, so a known name brings its own part only. */
function addCommands(program: Command, name: string | undefined): void {
  const own = PARTS.filter(({ names }) => name !== undefined && names.includes(name));
  for (const { register } of own.length > 0 ? own : PARTS) register(program);
  for (const command of program.commands) sayWhereHelpIs(command, program.name());
}

/** A slip in the words of a command is explained by the help of that command. */
function sayWhereHelpIs(command: Command, above: string): void {
  const name = `${above} ${command.name()}`;
  command.showHelpAfterError(`Run "${name} --help" for what it takes.`);
  for (const part of command.commands) sayWhereHelpIs(part, name);
}

function createBare(): Command {
  const program = new Command('reprise')
    .description('Conversations that survive: a session engine for AI agents.')
    .version(packageVersion(), '-V, --version')
    .usage('[options] [command]')
    .enablePositionalOptions()
    .exitOverride()
    .showHelpAfterError('Run "reprise --help" for the list of commands and options.')
    .configureOutput({ outputError: (text, write) => write(usageError(text)) })
    .helpOption('-h, --help', 'show this help')
    .helpCommand(false);
  configureHelp(program);
  addExamples(program, [
    'reprise                     chat; resumes the last session',
    'reprise -p "why?"           one answer, in a new session; -c: in the last one',
    'reprise ls garden           sessions with "garden" in their title or label',
    'reprise show @last          read one: id, title, label, key, @last or @-2',
    'reprise search red fox      messages that contain both words',
  ]);
  declareGlobals(program);
  return program;
}

/** A slip in the words of a command looks like every other error; where help is follows as the next step. */
function usageError(text: string): string {
  const [cause = '', suggestion = ''] = text.trimEnd().split('\n');
  const meant = suggestion.replace(/^\((.*)\)$/, '$1 ');
  return `reprise: ${escapeForTerminal(cause.replace(/^error: /, ''))} (INVALID_INPUT)\n${escapeForTerminal(meant)}`;
}

function registerTalk(program: Command): void {
  program.commandsGroup('Chat:');
  registerChat(program);
  registerServe(program);
  registerToken(program);
}

function registerChat(program: Command): void {
  const chat = program.command('chat').description('talk to an agent; what "reprise" alone does');
  addChatOptions(addGlobals(chat, ['model', 'json', ...ANYWHERE])).action(
    async (question: string | undefined, given: Options) => {
      const options = { ...given, question };
      if (textOption(given['url']) === undefined) await (await import('./repl/chat.ts')).chat(options);
      else await (await import('./repl/remote-chat.ts')).remoteChat(options);
    },
  );
  addExamples(chat, [
    'reprise                       the last session, where it stopped',
    'reprise --new garden          a new one, with a label',
    'reprise -r tomatoes           pick one with this word in its title or label',
    'git diff | reprise -p "what changed?"',
  ]);
}

function registerServe(program: Command): void {
  const serve = program
    .command('serve')
    .summary('start the HTTP API and the web page')
    .description('start a server with the HTTP API and the web page; by default for this machine only')
    .option(
      '--host <address>',
      'the address to listen on; any other than loopback needs a token that you set (REPRISE_TOKEN or --token-file)',
    )
    .option('--port <number>', 'the port to listen on; 0 picks a free one')
    .option(
      '--profile <name>',
      'the setting "profile": ids and limits of another system; zyhive: also its HTTP answers',
    )
    .option('--open', 'open the page in the browser and sign it in')
    .option('--log-level <level>', 'the lowest level to log')
    .option('--log-format <format>', 'json, or pretty for people (default on a terminal)')
    .action(async (options: Options) => (await import('./commands/serve.ts')).serveHome(options));
  addGlobals(serve, ['tokenFile', 'model', 'json', ...LOCAL]);
  addExamples(serve, ['reprise serve', 'reprise serve --port 0 --json', 'reprise serve --profile zyhive']);
}

function registerToken(program: Command): void {
  const token = program.command('token').description('replace or revoke the token of the server');
  for (const [action, summary] of [
    ['rotate', 'make a new token; a running server refuses the old one at once'],
    ['revoke', 'remove the token; a running server refuses all requests until there is a new one'],
  ] as const) {
    const command = token
      .command(action)
      .description(summary)
      .action(async (options: Options) => (await import('./commands/token.ts')).token(action, options));
    addGlobals(command, ['tokenFile', 'json', ...LOCAL]);
    addExamples(command, [`reprise token ${action}`]);
  }
  addExamples(token, ['reprise token rotate', 'reprise token revoke']);
}

/** The word that names the command; undefined where an option asks for something else, such as help. */
function commandIn(program: Command, words: readonly string[]): string | undefined {
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? '';
    if (!word.startsWith('-')) return word;
    const known = optionNamed(program.options, word);
    if (known === undefined) return undefined;
    if ((known.required || known.optional) && !word.includes('=')) at++;
  }
  return undefined;
}

/** `reprise help`, `reprise help ls`: as many other commands are asked. */
function withHelpOption(argv: readonly string[]): readonly string[] {
  const [node = '', script = '', first, ...asked] = argv;
  return first === 'help' ? [node, script, ...asked, '--help'] : argv;
}

/** Options without a command are those of the chat: `reprise`, `reprise -c`, `reprise --home here`. */
function withDefaultCommand(program: Command, argv: readonly string[]): string[] {
  const [node = '', script = '', ...args] = argv;
  let at = 0;
  for (; at < args.length; at++) {
    const word = args[at] ?? '';
    if (!word.startsWith('-') || word === '-') {
      // Several words in one argument are no command: the first message of a chat.
      if (!/\s/.test(word.trim())) return [...argv];
      break;
    }
    const known = optionNamed(program.options, word);
    if (known === undefined || word === '-V' || word === '--version') break;
    if ((known.required || known.optional) && !word.includes('=')) at++;
  }
  if (['-h', '--help', '-V', '--version'].includes(args[at] ?? '')) return [...argv];
  return [node, script, ...args.slice(0, at), 'chat', ...args.slice(at)];
}
