import { messageText } from '../../messages/english.ts';
import { type Message, type MessageOf, message } from '../../messages/message.ts';
import type { CommandGroup, CommandName } from '../../messages/params/params-commands.ts';
import { closestName } from '../closest-name.ts';

export type { CommandName };

/** Where a command is typed. On a channel, senders are not the owner of the home. */
export type Surface = 'repl' | 'web' | 'http' | 'channel';

/**
 * Commands that, with arguments, change the cost or behavior of a conversation; on a channel only the owner may use
 * those.
 */
export type SenderCommand = Extract<CommandName, 'model' | 'queue'>;
export const SENDER_COMMANDS: readonly SenderCommand[] = ['model', 'queue'];

export interface CommandRow {
  readonly name: CommandName;
  readonly aliases: readonly string[];
  /** `[optional]`, `<required>`; empty without arguments. */
  readonly args: string;
  readonly help: string;
  readonly group: CommandGroup;
  /** `owner`: shows or changes other sessions than the current one, so it is not available on channels. */
  readonly scope: 'session' | 'owner';
  readonly surfaces: readonly Surface[];
  /** When the command is refused, for `/help <command>` and the documentation. */
  readonly refused?: 'help.noteLast' | 'help.ownerOnly';
  /** On a channel, `receive` handles it first: the text after it becomes the first message of the new session. */
  readonly trigger?: true;
  /** The output is the requested data, so the CLI prints it to stdout. */
  readonly data?: true;
}

export interface Command {
  readonly name: CommandName;
  /** The text after the name, trimmed. */
  readonly args: string;
}

export interface UnknownCommand {
  /** The name as typed, without the slash. */
  readonly unknown: string;
  readonly suggestion?: CommandName;
}

/** A message whose text begins with a slash, because the user typed two. */
export interface EscapedMessage {
  readonly message: string;
}

const EVERYWHERE: readonly Surface[] = ['repl', 'web', 'http', 'channel'];
const OWNER: readonly Surface[] = ['repl', 'web', 'http'];
/** These commands answer with a message to send again, which is not possible on a channel. */
const INTERACTIVE: readonly Surface[] = ['repl', 'web', 'http'];

type Rest = Partial<Omit<CommandRow, 'name' | 'group' | 'help' | 'surfaces'>>;

const row =
  (scope: CommandRow['scope'], surfaces: readonly Surface[]) =>
  (group: CommandGroup, name: CommandName, rest: Rest = {}): CommandRow => ({
    name,
    aliases: [],
    args: '',
    help: messageText(message('help.about', { about: name })),
    group,
    scope,
    surfaces,
    ...rest,
  });

const own = row('session', EVERYWHERE);
const owner = row('owner', OWNER);
const typed = row('session', INTERACTIVE);

/** All commands of all surfaces. Help, docs, completion and parsing are derived from this table only. */
export const COMMANDS: readonly CommandRow[] = [
  own('conversation', 'new', { aliases: ['reset', 'clear'], args: '[label]', trigger: true }),
  own('conversation', 'history', { args: '[count]', data: true }),
  own('conversation', 'tree', { data: true }),
  own('conversation', 'undo', { args: '[anyway]' }),
  own('conversation', 'redo'),
  // The messages after the retried one leave the branch: a result that is delivered once would be lost (I-35).
  typed('conversation', 'retry', { refused: 'help.noteLast' }),
  typed('conversation', 'edit', { args: '<text>', refused: 'help.noteLast' }),
  own('conversation', 'stop'),
  row('session', ['repl'])('conversation', 'copy'),
  owner('sessions', 'sessions', { aliases: ['list', 'ls'], args: '[filter]', data: true }),
  owner('sessions', 'switch', { aliases: ['resume'], args: '<session>' }),
  owner('sessions', 'fork', { aliases: ['branch'], args: '[#position]' }),
  owner('sessions', 'delete', { args: '[session]' }),
  owner('sessions', 'search', { args: '<text>', data: true }),
  owner('sessions', 'repair', { args: '[session]' }),
  row('owner', ['repl'])('sessions', 'export', { args: '[file] [--redact]' }),
  own('context', 'context', { aliases: ['tokens', 'cost'], data: true }),
  own('context', 'compact', { args: '[focus] | --dry-run | undo' }),
  own('context', 'pin', { args: '[#position | last]' }),
  own('context', 'unpin', { args: '<#position | all>' }),
  own('context', 'explain', { args: '[turn]', data: true }),
  own('settings', 'rename', { args: '<label>' }),
  own('settings', 'model', { args: '[name]', refused: 'help.ownerOnly' }),
  own('settings', 'queue', { args: '[mode] [debounce:2s] [cap:20] [drop:old]', refused: 'help.ownerOnly' }),
  own('settings', 'status', { data: true }),
  own('other', 'help', { args: '[command]', data: true }),
  row('session', ['repl'])('other', 'quit', { aliases: ['exit'] }),
];

const BY_NAME: ReadonlyMap<string, CommandRow> = new Map(
  COMMANDS.flatMap((command) => [command.name, ...command.aliases].map((name) => [name, command] as const)),
);

/** Finds a command by name or alias, ignoring case. */
export function findCommand(name: string): CommandRow | undefined {
  return BY_NAME.get(name.toLowerCase());
}

const FIRST_WORD = /^\/(\S*)\s*([\s\S]*)$/;
/** `/name@bot` is how group chats address one of several bots. */
const NAME = /^([a-z][a-z0-9_-]*)(?:@\S*)?$/i;

/**
 * Parses what a user typed. @returns `undefined` for a message. A command must begin with the first character, so
 * trimming never turns a message into a command; `//` begins a message with one slash.
 *
 * On a command line, every other line that begins with a slash is a command or an unknown command. On other surfaces
 * users paste paths: there, a first word that cannot be a command name (`/usr/bin/env`, `/etc/hosts`, a lone slash)
 * is text.
 */
export function parseCommand(
  text: string,
  { surface }: { readonly surface: Surface },
): Command | UnknownCommand | EscapedMessage | undefined {
  if (text.startsWith('//')) return { message: text.slice(1) };
  const [, word, rest = ''] = FIRST_WORD.exec(text) ?? [];
  if (word === undefined) return undefined;
  const [, name] = NAME.exec(word) ?? [];
  if (name === undefined) return surface === 'repl' ? { unknown: word } : undefined;
  const found = findCommand(name);
  if (found !== undefined) return { name: found.name, args: rest.trim() };
  const suggestion = suggest(name, surface);
  return { unknown: name, ...(suggestion !== undefined && { suggestion }) };
}

function suggest(name: string, surface: Surface): CommandName | undefined {
  const offered = [...BY_NAME].filter(([, { surfaces }]) => surfaces.includes(surface));
  const close = closestName(
    name.toLowerCase(),
    offered.map(([known]) => known),
  );
  return close === undefined ? undefined : findCommand(close)?.name;
}

/** @returns the refusal if the sender may not use this command with these arguments, otherwise `undefined`. */
export function senderRefusal(
  { name, args }: Command,
  allowed: readonly string[],
): MessageOf<'command.ownerOnly'> | undefined {
  const isRestricted = SENDER_COMMANDS.some((each) => each === name) && args !== '';
  return isRestricted && !allowed.includes(name) ? message('command.ownerOnly', { name }) : undefined;
}

/** The answer to an unknown command. Its text is neither stored nor sent to a model. */
export function unknownCommand({ unknown: name, suggestion }: UnknownCommand): MessageOf<'command.unknown'> {
  return message('command.unknown', { name, suggestion: suggestion ?? null });
}

export function unknownCommandText(command: UnknownCommand): string {
  return messageText(unknownCommand(command));
}

/** A help message for each command of a surface, in the order and groups of the table. */
export function commandHelpMessages(surface: Surface): Message[] {
  const rows = COMMANDS.filter(({ surfaces }) => surfaces.includes(surface));
  return rows.flatMap((row, i) => {
    const { name: about, aliases, group } = row;
    const line = message('help.command', { usage: commandUsage(row), about, aliases });
    return group === rows[i - 1]?.group ? [line] : [message('help.group', { group }), line];
  });
}

export function commandHelp(surface: Surface): string[] {
  return commandHelpMessages(surface).map(messageText);
}

export function commandUsage({ name, args }: CommandRow): string {
  return args === '' ? `/${name}` : `/${name} ${args}`;
}
