import { type Command, Option } from 'commander';
import type { LoadedConfig } from '../config/load.ts';
import type { Config } from '../config/schema.ts';
import { failure } from '../messages/failure.ts';
import { quotedValue } from '../messages/quoted.ts';
import { noColors } from './terminal/terminal-env.ts';

/** As commander passes them; every command checks the options it uses. */
export type Options = Readonly<Record<string, unknown>>;

const GLOBALS = {
  home: ['--home <folder>', 'the folder with all data, instead of REPRISE_HOME or ~/.reprise'],
  store: ['--store <kind>', 'the kind of store, if the home holds several: jsonl, sqlite or postgres'],
  url: ['--url <address>', 'use the sessions of this server, instead of REPRISE_URL'],
  tokenFile: ['--token-file <file>', 'a file with the server token, instead of REPRISE_TOKEN_FILE'],
  model: ['--model <name>', 'use this model for this command only, instead of the one the session has'],
  json: ['--json', 'print JSON instead of text'],
} as const;

export type GlobalOption = keyof typeof GLOBALS;

function makeOption(name: GlobalOption): Option {
  const [flags, help] = GLOBALS[name];
  return new Option(flags, help);
}

/** Options of commands that need a home on this machine. */
export const LOCAL: readonly GlobalOption[] = ['home', 'store'];
/** Options of commands that also work with a server. */
export const ANYWHERE: readonly GlobalOption[] = ['home', 'store', 'url', 'tokenFile'];

/** Common options are accepted before the command; after it, only those the command uses. */
export function addGlobals(command: Command, names: readonly GlobalOption[]): Command {
  for (const name of names) command.addOption(makeOption(name));
  return command;
}

export function declareGlobals(program: Command): void {
  for (const name of Object.keys(GLOBALS) as GlobalOption[]) {
    const option = makeOption(name);
    // Not a setting: a file must not be able to send a person's messages to a server.
    program.addOption(name === 'url' ? option.env('REPRISE_URL') : option);
  }
  program.option('-C <folder>', 'run as if started in this folder');
  program.option('--no-color', 'no colors, as with NO_COLOR');
  program.hook('preAction', (_program, action) => {
    const { C: folder, color } = program.opts<{ C?: string; color?: boolean }>();
    if (color === false) noColors();
    if (folder !== undefined) goTo(folder);
    inherit(program, action);
  });
}

/** An option before the command applies to it, unless it is repeated after the command. */
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
    throw failure('NOT_FOUND', 'cli.noFolder', { folder, reason: code ?? String(error) }, { cause: error });
  }
}

/** @returns the option that a word of a command line names; `--limit=3` counts too. */
export function optionNamed(options: readonly Option[], word: string): Option | undefined {
  const [name] = word.split('=', 1);
  return options.find(({ long, short }) => name === long || name === short);
}

/** @returns a whole number above 0, or undefined if the option is missing. */
export function countOption(name: string, value: unknown): number | undefined {
  if (value === undefined) return undefined;
  const count = Number(value);
  if (Number.isSafeInteger(count) && count > 0) return count;
  throw failure('INVALID_INPUT', 'value.wrong', {
    field: name,
    value: quotedValue(value),
    expected: [{ is: 'integer', min: 1 }],
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

/** Shown first in the help of a command and in docs/cli.md. */
export function addExamples(command: Command, lines: readonly string[]): Command {
  EXAMPLES.set(command, lines);
  return command.addHelpText('before', `Examples:\n${lines.map((line) => `  ${line}\n`).join('')}`);
}

export function examplesOf(command: Command): readonly string[] {
  return EXAMPLES.get(command) ?? [];
}
