import { realpathSync } from 'node:fs';
import { serveStdio } from '../../mcp/serve-stdio.ts';
import { FolderScope, WHOLE_HOME } from '../../mcp/session-scope.ts';
import { failure } from '../../messages/failure.ts';
import { quotedValue } from '../../messages/quoted.ts';
import { homeOf, openHomeWith } from '../backend/home.ts';
import { openEngine } from '../backend/open-engine.ts';
import { type Options, textOption } from '../options.ts';
import { confirm } from '../terminal/ask.ts';
import { escapeForTerminal, print, say } from '../terminal/print.ts';
import { runProgram } from '../terminal/run-program.ts';
import { shellWord } from '../terminal/shell-word.ts';
import { packageVersion } from '../version.ts';

/** `reprise mcp`: serves the sessions of a home to an agent, on stdin and stdout. */
export async function mcp(options: Options): Promise<void> {
  const client = textOption(options['install']);
  if (client !== undefined) return install(client, options);
  const { store, home } = await openHomeWith(await homeOf(options));
  const { reprise } = await openEngine(store, home.config, home.modelFlag);
  await using _ = reprise;
  const stopping = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopping.abort());
  await serveStdio(
    {
      reprise,
      scope: options['all'] === true ? WHOLE_HOME : new FolderScope(reprise, process.cwd()),
      write: options['write'] === true,
      version: packageVersion(),
    },
    stopping.signal,
  );
}

type Install = (server: readonly string[]) => readonly string[];

/** How each client adds a server to its user configuration. */
const CLIENTS: Readonly<Record<string, Install>> = {
  claude: (server) => ['claude', 'mcp', 'add', '--scope', 'user', 'reprise', '--', ...server],
  codex: (server) => ['codex', 'mcp', 'add', 'reprise', '--', ...server],
};

async function install(client: string, options: Options): Promise<void> {
  const server = serverCommand(options);
  // opencode adds servers only in a dialog.
  if (client === 'opencode') {
    say('Add this to the "mcp" section of opencode.json:');
    print(JSON.stringify({ reprise: { type: 'local', command: server } }, null, 2));
    return;
  }
  const command = Object.hasOwn(CLIENTS, client) ? CLIENTS[client]?.(server) : undefined;
  if (command === undefined)
    throw failure('INVALID_INPUT', 'value.wrong', {
      field: '--install',
      value: quotedValue(client),
      expected: [{ is: 'oneOf', values: [...Object.keys(CLIENTS), 'opencode'] }],
    });
  print(escapeForTerminal(command.map(shellWord).join(' ')));
  if (!(await confirm('Run this command?', options))) return;
  await runProgram(command);
}

/** This program by its path: a client does not have the PATH of this shell. */
function serverCommand({ home, store, all, write }: Options): readonly string[] {
  return [
    process.execPath,
    realpathSync(process.argv[1] ?? ''),
    'mcp',
    ...(typeof home === 'string' ? ['--home', home] : []),
    ...(typeof store === 'string' ? ['--store', store] : []),
    ...(all === true ? ['--all'] : []),
    ...(write === true ? ['--write'] : []),
  ];
}
