import { alternatives, byteCount } from '../english-format.ts';
import type { MessageTable } from '../message.ts';
import type { CliMessages } from '../params/params-cli.ts';

const SERVER_DECIDES: Readonly<Record<CliMessages['cli.serverDecides']['option'], string>> = {
  ephemeral: 'the server stores all messages',
  model: 'the server chooses its model',
  profile: 'the server has its own profile',
  store: 'the server has its own store',
  system: 'the agents of the server have their own system prompts',
};

const NAME_SESSION = 'Name one: an id, a name, @last, or its number in "reprise ls".';
const ON_THE_HOME = 'run the command without --url and REPRISE_URL on the machine that has the home.';

export const ENGLISH_CLI: Pick<MessageTable, keyof CliMessages> = {
  'cli.exclusive': ({ options }) => [
    `${options.slice(0, -1).join(', ')} and ${options.at(-1)} cannot be combined`,
    'Use only one of them.',
  ],
  'cli.noAgent': ({ agent, suggestion }) => [
    `there is no agent ${agent}`,
    `${suggestion === null ? '' : `Did you mean "${suggestion}"? `}"reprise config" lists the configured agents.`,
  ],
  'cli.noMessagesYet': () => ['this chat has no messages yet', 'Send a message first.'],
  'cli.serverDecides': ({ option }) => [
    `--${option} has no effect with --url: ${SERVER_DECIDES[option]}`,
    `Leave out --${option}, or --url.${option === 'model' ? ' In the chat, /model chooses another model of the server.' : ''}`,
  ],
  'cli.serverFormat': ({ format }) => [
    `a server exports transcripts (.jsonl) only, not ${format}`,
    `Name a .jsonl file, or use "reprise export": ${ON_THE_HOME}`,
  ],
  'cli.homeOnly': ({ option }) => [
    `${option} needs a home and does not work through a server`,
    `Leave it out, or ${ON_THE_HOME}`,
  ],
  'cli.needsHome': ({ url }) => [
    `this command needs a home and does not work through the server ${url}`,
    'Run it without --url and REPRISE_URL on the machine that has the home.',
  ],
  'cli.fileRefused': ({ file, reason, maxBytes }) => [
    `${file} cannot be added: ${reason === 'size' ? `it is larger than ${byteCount(maxBytes)}` : 'it is neither text nor an image'}`,
    'Remove it from the message, or put a quotation mark before the @.',
  ],
  'cli.noPrompt': ({ options }) => [
    options.length === 0 ? 'there is no question' : `${options.join(' and ')} needs a question`,
    `Add one: reprise -p "a question"${options.map((option) => ` ${option}`).join('')}, or pipe one in.`,
  ],
  'cli.noSessions': () => ['there are no sessions yet', 'Start one with "reprise".'],
  'cli.noMatch': ({ query }) => [`no session has ${query} in its name`, 'List all sessions: reprise ls'],
  'cli.noRef': () => [
    'no session given, and this is not a terminal where you could choose one',
    NAME_SESSION,
  ],
  'cli.noProgram': ({ program }) => [
    `the program ${program} cannot be started`,
    'Install it, or run the command that was printed where it is installed.',
  ],
  'cli.importWhat': () => [
    'nothing to import was named',
    'Name a file or folder, or import from all tools on this machine: reprise import --all',
  ],
  'cli.importAllPath': ({ path }) => [
    `--all and --watch look in the known folders of the tools, so they take no path (${path})`,
    'Import the path without them, or leave it out.',
  ],
  'cli.importTool': ({ tool, known }) => [
    `no tool ${tool} has a known folder`,
    `Use --only with ${alternatives(known)}.`,
  ],
  'cli.needsYes': () => [
    'this command needs a confirmation, but stdin is not a terminal',
    'Pass --yes to confirm.',
  ],
  'cli.cancelled': () => ['cancelled: nothing was changed'],
  'cli.noToken': ({ url, home, servers }) => [
    `no token for the server ${url}`,
    `Name the token of that server: --token-file <file>, REPRISE_TOKEN_FILE or REPRISE_TOKEN. The token of ${home} is sent only to its own server, ${servers.length === 0 ? 'which is not running' : servers.join(', ')}.`,
  ],
  'cli.tokenNotInFile': ({ name }) => [
    `the token is set in ${name}, not in a token file`,
    `Change it in ${name}, then restart the server. To rotate a token file instead, name it with --token-file.`,
  ],
  'cli.memoryHome': () => [
    'a store in memory has no home, so there is nothing to read',
    'Use --store jsonl, sqlite or postgres.',
  ],
  'cli.homeForbidden': ({ home, origin, reason, path }) => [
    `no permission to read the home ${home} (${from(origin)}): ${reason}`,
    `Find its owner: ls -ld ${path}. Run this command as that user, or name another home with --home or REPRISE_HOME.`,
  ],
  'cli.noHome': ({ home, origin }) => [
    `there is no Reprise home at ${home} (${from(origin)})`,
    'Name another one with --home or REPRISE_HOME, or create one with "reprise".',
  ],
  'cli.homeNotEmpty': ({ home }) => [
    `${home} is not empty`,
    'Name a new folder with --home, or leave --home out for a temporary one.',
  ],
  'cli.badStore': ({ store }) => [
    `${store} is not the name of a store`,
    'Write jsonl, sqlite or postgres; jsonl:<folder> or sqlite:<folder>; or postgres://…',
  ],
  'cli.passwordShown': () => [
    'a password on the command line can be read by every user of this machine, in the process list',
    'Write "postgres" and set REPRISE_STORE_URL, or leave the password out and set PGPASSWORD or PGPASSFILE.',
  ],
  'cli.noFolder': ({ folder, reason }) => [
    `cannot change to the folder ${folder}: ${reason}`,
    'Check the path after -C.',
  ],
  'cli.noEntryAt': ({ at, isRemote }) => [
    `there is no message or entry ${at} in ${isRemote ? 'the current branch of ' : ''}this session`,
    isRemote
      ? `To show another branch, ${ON_THE_HOME}`
      : `Use the position that "reprise show" prints, in quotes: --at '#3'.`,
  ],
  'cli.backupWord': ({ word }) => [
    `"${word}" is not a command of backup`,
    `To write a file with this name: reprise backup ./${word}`,
  ],
  'cli.noLabel': () => ['the label is empty', 'Write: reprise rename <ref> <label>'],
  'cli.noSearchText': () => ['the search text is empty', 'Write: reprise search <text>'],
  'cli.noTranscriptFile': ({ id }) => [
    `session ${id} has no transcript file: it is in the trash, or its store is a database`,
    `Print it instead: reprise show ${id}`,
  ],
  'cli.noFile': ({ file }) => [`there is no file ${file}`, 'Check the path.'],
  'cli.notTranscript': ({ file }) => [
    `${file} is not a transcript`,
    'Name a file with JSON objects, one per line. "reprise show --help" lists the formats.',
  ],
  'cli.unreadableFile': ({ file, reason, isFolder }) => [
    `cannot read ${file}: ${reason}`,
    isFolder ? 'This is a folder. Name a .jsonl file in it.' : 'Check its permissions.',
  ],
  'cli.noProjectFile': ({ name, file }) => [
    `there is no ${name} in this folder`,
    `Create ${file} first (docs/config.md lists its settings), or change to the folder that has one.`,
  ],
  'cli.noPruneRules': () => [
    'there is no rule for what to prune',
    'Add --ttl, --max-sessions, --max-bytes, --archive-after or --grace, or configure session.maintenance.',
  ],
  'cli.exportWhat': () => [
    'name one session, or use --all',
    'For example: reprise export @last --format markdown',
  ],
  'cli.exportFolder': () => ['an export of several files needs a folder', 'Add --out <folder>.'],
  'cli.noTarget': () => [
    'the target of the copy is missing',
    'Add --to, for example --to sqlite or --to jsonl:<folder>.',
  ],
  'cli.sameStore': ({ store }) => [
    `${store} is both the source and the target`,
    'Name another kind or folder with --to.',
  ],
  'cli.noStore': ({ store }) => [
    `there is no store at ${store}`,
    'Name another one with --from, or its folder with --home.',
  ],
};

function from(origin: string | null): string {
  return origin === null ? 'the default' : `from ${origin}`;
}
