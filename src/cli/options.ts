import { type Command, Option } from 'commander';
import type { LoadedConfig } from '../config/load.ts';
import type { Config } from '../config/schema.ts';
import { RepriseError } from '../errors.ts';

/** As commander hands them over; every command checks those it uses. */
export type Options = Readonly<Record<string, unknown>>;

const GLOBALS = {
  home: ['--home <folder>', 'where sessions live, instead of REPRISE_HOME or ~/.reprise'],
  store: ['--store <kind>', 'how they are kept, if not as the home holds them: jsonl, sqlite or postgres'],
  url: ['--url <address>', 'a server that has the sessions, instead of REPRISE_URL'],
  tokenFile: ['--token-file <file>', 'the file with its token, instead of REPRISE_TOKEN_FILE'],
  model: ['--model <name>', 'the model for this run; it wins over models that sessions have stored'],
  json: ['--json', 'print JSON instead of text'],
} as const;

export type GlobalOption = keyof typeof GLOBALS;

function makeOption(name: GlobalOption): Option {
  const [flags, help] = GLOBALS[name];
  return new Option(flags, help);
}

/** What reads and writes a home on this machine. */
export const LOCAL: readonly GlobalOption[] = ['home', 'store'];
/** What works through a server as well. */
export const ANYWHERE: readonly GlobalOption[] = ['home', 'store', 'url', 'tokenFile'];

/** Each may stand before the name of the command, where all of them are known, and behind it, where its own are. */
export function addGlobals(command: Command, names: readonly GlobalOption[]): Command {
  for (const name of names) command.addOption(makeOption(name));
  return command;
}

export function declareGlobals(program: Command): void {
  for (const name of Object.keys(GLOBALS) as GlobalOption[]) {
    const option = makeOption(name);
    // No setting, because no file may send a person's words to a server; all others are read with the settings.
    program.addOption(name === 'url' ? option.env('REPRISE_URL') : option);
  }
  program.option('-C <folder>', 'go to this folder first');
  program.hook('preAction', (_program, action) => {
    const { C: folder } = program.opts<{ C?: string }>();
    if (folder !== undefined) goTo(folder);
    inherit(program, action);
  });
}

/** What stood before the command counts for it, unless it was said again behind it. */
function inherit(program: Command, action: Command): void {
  for (const name of Object.keys(GLOBALS)) {
    const source = program.getOptionValueSource(name);
    if (source === undefined || action.getOptionValueSource(name) === 'cli') continue;
    action.setOptionValueWithSource(name, program.getOptionValue(name), source);
  }
}

function goTo(folder: string): void {
  try {
    process.chdir(folder);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new RepriseError('NOT_FOUND', `cannot go to the folder ${folder}: ${code}`, {
      details: { next: 'Check the path behind -C.' },
      cause: error,
    });
  }
}

/** The option a word of a command line names, `--limit=3` included. */
export function optionNamed(options: readonly Option[], word: string): Option | undefined {
  const [name] = word.split('=', 1);
  return options.find(({ long, short }) => name === long || name === short);
}

/** A whole number above 0; undefined where nothing was said. */
export function countOption(name: string, value: unknown): number | undefined {
  if (value === undefined) return undefined;
  const count = Number(value);
  if (Number.isSafeInteger(count) && count > 0) return count;
  throw new RepriseError('INVALID_INPUT', `${name} wants a whole number above 0, not "${String(value)}"`, {
    details: { next: `Write for example: ${name} 20` },
  });
}

export function textOption(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** `--profile` wins over the environment and every file. No setting has this flag: `export` means a layout by it. */
export async function withProfile(loaded: LoadedConfig, { profile }: Options): Promise<LoadedConfig> {
  if (typeof profile !== 'string') return loaded;
  const { checkText } = await import('../config/check-settings.ts');
  const name = checkText('profile', profile, { by: '--profile' }) as NonNullable<Config['profile']>;
  return { ...loaded, config: { ...loaded.config, profile: name } };
}

const EXAMPLES: WeakMap<Command, readonly string[]> = new WeakMap();

/** Stand first in its help and in docs/cli.md. */
export function addExamples(command: Command, lines: readonly string[]): Command {
  EXAMPLES.set(command, lines);
  return command.addHelpText('before', `Examples:\n${lines.map((line) => `  ${line}\n`).join('')}`);
}

export function examplesOf(command: Command): readonly string[] {
  return EXAMPLES.get(command) ?? [];
}
