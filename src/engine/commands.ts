import { closestName } from './closest-name.ts';

/** Where a command is typed. A channel is foreign: whoever writes there is not the owner of the home. */
export type Surface = 'repl' | 'web' | 'http' | 'channel';

export type CommandName =
  | 'new'
  | 'sessions'
  | 'switch'
  | 'history'
  | 'tree'
  | 'fork'
  | 'undo'
  | 'redo'
  | 'context'
  | 'compact'
  | 'explain'
  | 'retry'
  | 'edit'
  | 'delete'
  | 'rename'
  | 'pin'
  | 'unpin'
  | 'repair'
  | 'search'
  | 'model'
  | 'queue'
  | 'stop'
  | 'status'
  | 'export'
  | 'help'
  | 'quit';

/** With arguments these change what a conversation costs or how it behaves: on a channel only the owner may do that. */
export type SenderCommand = Extract<CommandName, 'model' | 'queue'>;
export const SENDER_COMMANDS: readonly SenderCommand[] = ['model', 'queue'];

type CommandGroup = 'conversation' | 'sessions' | 'context' | 'settings' | 'other';

export interface CommandRow {
  readonly name: CommandName;
  readonly aliases: readonly string[];
  /** As people read it: `[optional]`, `<needed>`; empty: none. */
  readonly args: string;
  readonly help: string;
  readonly group: CommandGroup;
  /** `owner`: shows or touches other sessions than the one it is typed in, so no channel has it. */
  readonly scope: 'session' | 'owner';
  readonly surfaces: readonly Surface[];
  /** When it is refused, where that is not plain: `/help <command>` and the documents say it. */
  readonly refused?: string;
  /** On a channel `receive` looks for it first: what follows it there is the first message of the new session. */
  readonly trigger?: true;
  /** The answer is what was asked for, not a word about it: on a command line it goes to stdout. */
  readonly data?: true;
}

export interface Command {
  readonly name: CommandName;
  /** What follows the name, without the space around it. */
  readonly args: string;
}

export interface UnknownCommand {
  /** As it was typed, without the slash. */
  readonly unknown: string;
  readonly suggestion?: CommandName;
}

/** A message that begins with a slash: two were typed. */
export interface EscapedMessage {
  readonly message: string;
}

const EVERYWHERE: readonly Surface[] = ['repl', 'web', 'http', 'channel'];
const OWNER: readonly Surface[] = ['repl', 'web', 'http'];
/** They answer with a message to send, which a channel cannot: it was its sender's to say. */
const INTERACTIVE: readonly Surface[] = ['repl', 'web', 'http'];

type Rest = Partial<Omit<CommandRow, 'name' | 'group' | 'help' | 'surfaces'>>;

const row =
  (scope: CommandRow['scope'], surfaces: readonly Surface[]) =>
  (group: CommandGroup, name: CommandName, help: string, rest: Rest = {}): CommandRow => ({
    name,
    aliases: [],
    args: '',
    help,
    group,
    scope,
    surfaces,
    ...rest,
  });

const own = row('session', EVERYWHERE);
const owner = row('owner', OWNER);
const typed = row('session', INTERACTIVE);

/** What is said again takes back what followed the message: a result that was told once would be lost with it (I-35). */
const NO_MESSAGE_LAST =
  'Refused, with the reason, where something else came last: the result of a child or another note (say it in a new message), or a compaction or reset (/undo takes it back first).';

const OWNER_CHANGES =
  'On a channel every sender can look, but only the owner can change it, unless `session.senderCommands` names the command.';

/** Every command of every surface. Help, docs, completion and parsing come from here and from nowhere else. */
export const COMMANDS: readonly CommandRow[] = [
  own('conversation', 'new', 'begin a new session; the old one is kept', {
    aliases: ['reset', 'clear'],
    args: '[label]',
    trigger: true,
  }),
  own('conversation', 'history', 'the last messages, with the positions other commands take', {
    args: '[count]',
    data: true,
  }),
  own('conversation', 'tree', 'all branches; * marks the one you are on', { data: true }),
  own('conversation', 'undo', 'take back the last turn, compaction or reset', { args: '[anyway]' }),
  own('conversation', 'redo', 'bring back what /undo took'),
  typed('conversation', 'retry', 'ask the last message again; the old answer stays as a branch', {
    refused: NO_MESSAGE_LAST,
  }),
  typed('conversation', 'edit', 'say the last message in other words', {
    args: '<text>',
    refused: NO_MESSAGE_LAST,
  }),
  own('conversation', 'stop', 'stop the turn, what waits and the children; what arrived is kept'),
  owner('sessions', 'sessions', 'recent sessions; * marks the current one', {
    aliases: ['list', 'ls'],
    args: '[filter]',
    data: true,
  }),
  owner(
    'sessions',
    'switch',
    'continue in another session: a number of the printed list, an id, name or key, or the start of one',
    {
      aliases: ['resume'],
      args: '<session>',
    },
  ),
  owner('sessions', 'fork', 'continue in a copy of this session, up to a message', {
    aliases: ['branch'],
    args: '[#position]',
  }),
  owner('sessions', 'delete', 'move a session to the trash; asks first', { args: '[session]' }),
  owner('sessions', 'search', 'find a text in all sessions', { args: '<text>', data: true }),
  owner('sessions', 'repair', 'go on with what can be read of a damaged session', { args: '[session]' }),
  row('owner', ['repl'])('sessions', 'export', 'write the session to a file; .md, .html and .json say how', {
    args: '[file] [--redact]',
  }),
  own('context', 'context', 'how full the context is, and of what', {
    aliases: ['tokens', 'cost'],
    data: true,
  }),
  own('context', 'compact', 'sum up older messages, preview that, or take it back', {
    args: '[focus] | --dry-run | undo',
  }),
  own('context', 'pin', 'keep a message word for word in every context; alone: what is pinned', {
    args: '[#position | last]',
  }),
  own('context', 'unpin', 'let go of a pinned message', { args: '<#position | all>' }),
  own('context', 'explain', 'what the model was sent in a turn, and why', { args: '[turn]', data: true }),
  own('settings', 'rename', 'give this session a label', { args: '<label>' }),
  own('settings', 'model', 'show or choose who answers', { args: '[name]', refused: OWNER_CHANGES }),
  own('settings', 'queue', 'show or choose what happens to messages during a turn', {
    args: '[mode] [debounce:2s] [cap:20] [drop:old]',
    refused: OWNER_CHANGES,
  }),
  own('settings', 'status', 'this session at a glance', { data: true }),
  own('other', 'help', 'this list, or one command of it', { args: '[command]', data: true }),
  row('session', ['repl'])('other', 'quit', 'leave; everything is kept', { aliases: ['exit'] }),
];

const BY_NAME: ReadonlyMap<string, CommandRow> = new Map(
  COMMANDS.flatMap((command) => [command.name, ...command.aliases].map((name) => [name, command] as const)),
);

/** By name or alias, in any case. */
export function findCommand(name: string): CommandRow | undefined {
  return BY_NAME.get(name.toLowerCase());
}

const FIRST_WORD = /^\/(\S*)\s*([\s\S]*)$/;
/** `/name@bot` is how group chats address one of several bots. */
const NAME = /^([a-z][a-z0-9_-]*)(?:@\S*)?$/i;

/**
 * What a person typed. Undefined: a message, as it is. A command begins with the very first character, so no trimming
 * makes one of a message, and `//` begins a message with one slash.
 *
 * On a command line every other line that begins with a slash is a command or an unknown one. Elsewhere people paste
 * paths: there a first word that could not be a name (`/usr/bin/env`, `/etc/hosts`, a lone slash) is text.
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

/** @returns the answer to a sender who may not use this command with these arguments; undefined if the sender may. */
export function senderRefusal({ name, args }: Command, allowed: readonly string[]): string | undefined {
  const isRestricted = SENDER_COMMANDS.some((each) => each === name) && args !== '';
  if (!isRestricted || allowed.includes(name)) return undefined;
  return `Only the owner can change this with /${name}. The owner can allow it for every sender: session.senderCommands.`;
}

/** What a person is told; the text itself is neither sent to a model nor stored. */
export function unknownCommandText({ unknown, suggestion }: UnknownCommand): string {
  const ask = suggestion === undefined ? '/help lists what there is.' : `Did you mean /${suggestion}?`;
  return `There is no command /${unknown}. ${ask} Two slashes begin a message with one.`;
}

/** One line for each command of a surface, in the order and groups of the table. */
export function commandHelp(surface: Surface): string[] {
  const rows = COMMANDS.filter(({ surfaces }) => surfaces.includes(surface));
  const usages = rows.map(commandUsage);
  const width = Math.min(HELP_COLUMN, Math.max(...usages.map(({ length }) => length)));
  return rows.flatMap(({ help, aliases, group }, i) => {
    const also = aliases.length === 0 ? '' : ` (also ${aliases.map((name) => `/${name}`).join(', ')})`;
    const line = `  ${(usages[i] ?? '').padEnd(width)}  ${help}${also}`;
    return group === rows[i - 1]?.group ? [line] : [`${group}:`, line];
  });
}

const HELP_COLUMN = 36;

export function commandUsage({ name, args }: CommandRow): string {
  return args === '' ? `/${name}` : `/${name} ${args}`;
}
