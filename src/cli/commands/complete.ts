import type { Command, Option } from 'commander';
import { isListed } from '../../engine/admin/ref.ts';
import { minutesAgo, sessionName } from '../../engine/commands/session-line.ts';
import { RepriseError } from '../../errors.ts';
import { ago } from '../../messages/english-format.ts';
import type { SessionRecord } from '../../store/port/store.ts';
import { homeOf, openHomeAsItIs } from '../backend/home.ts';
import { optionNamed } from '../options.ts';
import { escapeForTerminal, print } from '../terminal/print.ts';

/** More do not fit in a shell's completion menu. */
const OFFERED = 200;
/** Help names an argument `ref` if it is a session reference. */
const REF_ARGUMENT = /^ref\b/;

interface Candidate {
  readonly value: string;
  readonly about: string;
}

/**
 * `reprise __complete -- <words>`: prints candidates for the last word, one per line. Prints no errors, because the
 * shell would mix them into the command line.
 */
export async function complete(program: Command, words: readonly string[]): Promise<void> {
  const before = words.slice(0, -1);
  const typed = words.at(-1) ?? '';
  const state = readWords(program, before);
  const candidates = await candidatesFor(state, typed);
  for (const { value, about } of candidates) {
    if (!value.toLowerCase().startsWith(typed.toLowerCase())) continue;
    print(`${value}\t${escapeForTerminal(about).replaceAll('\t', ' ')}`);
  }
}

interface State {
  readonly program: Command;
  readonly command: Command;
  /** The option whose value comes next. */
  readonly option: Option | undefined;
  readonly operands: number;
  readonly values: Record<string, string>;
}

/** Parses the words typed so far as the command parser would. */
function readWords(program: Command, words: readonly string[]): State {
  const values: Record<string, string> = {};
  let command = program;
  let option: Option | undefined;
  let operands = 0;
  for (const word of words) {
    if (option !== undefined) {
      values[option.attributeName()] = word;
      option = undefined;
    } else if (word.startsWith('-')) {
      const found = optionNamed(optionsOf(program, command), word);
      if (found !== undefined && (found.required || found.optional)) option = found;
    } else {
      const child = command === program ? program.commands.find((each) => each.name() === word) : undefined;
      if (child === undefined) operands++;
      else command = child;
    }
  }
  return { program, command, option, operands, values };
}

function optionsOf(program: Command, command: Command): readonly Option[] {
  return command === program ? program.options : [...command.options, ...program.options];
}

async function candidatesFor(state: State, typed: string): Promise<readonly Candidate[]> {
  const { program, command, option, operands } = state;
  if (option !== undefined) return (option.argChoices ?? []).map((value) => ({ value, about: '' }));
  if (typed.startsWith('-'))
    return command
      .createHelp()
      .visibleOptions(command)
      .map(({ long, short, description }) => ({ value: long ?? short ?? '', about: description }));
  if (command === program)
    return program
      .createHelp()
      .visibleCommands(program)
      .map((each) => ({ value: each.name(), about: each.description() }));
  if (command.name() === 'completion' && operands === 0)
    return ['bash', 'zsh', 'fish'].map((value) => ({ value, about: 'shell' }));
  const { registeredArguments: all } = command;
  const argument = all[operands] ?? (all.at(-1)?.variadic === true ? all.at(-1) : undefined);
  return argument !== undefined && REF_ARGUMENT.test(argument.name()) ? await refs(state) : [];
}

async function refs({ command, values }: State): Promise<readonly Candidate[]> {
  const status = ['restore', 'purge'].includes(command.name()) ? 'deleted' : 'open';
  try {
    await using store = await openHomeAsItIs(await homeOf(values));
    const { sessions } = await store.list({ limit: OFFERED, status });
    const now = new Date();
    const last = sessions.length > 0 && status === 'open' ? [{ value: '@last', about: 'the newest' }] : [];
    return [...last, ...sessions.filter(isListed).flatMap((record) => candidatesOf(record, sessions, now))];
  } catch (error) {
    if (!(error instanceof RepriseError)) throw error;
    return [];
  }
}

/** Candidates for one session: its name, if the name can be used as a ref, and its id. */
function candidatesOf(record: SessionRecord, all: readonly SessionRecord[], now: Date): Candidate[] {
  const name = sessionName(record);
  const { id, label, title, messageCount, lastAt } = record;
  const about = `${messageCount} messages, ${ago(minutesAgo(lastAt, now))}`;
  const isRef = name === (label ?? title) && /^[^-@\d]/.test(name) && escapeForTerminal(name) === name;
  const isUnique = all.every((other) => other === record || sessionName(other) !== name);
  return [...(isRef && isUnique ? [{ value: name, about }] : []), { value: id, about: `${name}, ${about}` }];
}
