import { homedir } from 'node:os';
import { environment } from '../../config/load.ts';
import { CLIENT_EXPORTS, CLIENT_NAMES, isClientName } from '../../interop/export/clients/client-export.ts';
import { failure } from '../../messages/failure.ts';
import { quotedValue } from '../../messages/quoted.ts';
import { openLocalBackend } from '../backend/local-backend.ts';
import { documentOf, newClientSession, writeClientFile } from '../client-file.ts';
import { type Options, textOption } from '../options.ts';
import { confirm } from '../terminal/ask.ts';
import { escapeForTerminal, print, printJson, say } from '../terminal/print.ts';
import { runProgram } from '../terminal/run-program.ts';
import { shellWord } from '../terminal/shell-word.ts';

/** `reprise resume <ref> --in <tool>`: writes a new session of another agent, and starts that agent. */
export async function resume(ref: string, options: Options): Promise<void> {
  const client = options['in'];
  if (!isClientName(client))
    throw failure('INVALID_INPUT', 'value.wrong', {
      field: '--in',
      value: quotedValue(client),
      expected: [{ is: 'oneOf', values: CLIENT_NAMES }],
    });
  if (options['full'] === true && options['compact'] === true)
    throw failure('INVALID_INPUT', 'cli.exclusive', { options: ['--full', '--compact'] });
  const { title, place, start } = CLIENT_EXPORTS[client];
  const out = textOption(options['out']);
  const { command, cwd } = await (async () => {
    await using backend = await openLocalBackend(options);
    const found = await backend.find(ref);
    if (options['compact'] === true && (await backend.compact(found, {})) === null)
      say('There was nothing to compact.');
    const document = await documentOf(backend.store, await backend.store.get(found.id));
    const session = newClientSession(document, {
      full: options['full'] === true,
      cwd: textOption(options['cwd']),
    });
    const file = out ?? place(session, { home: homedir(), env: environment() });
    say(`${title} gets a new session: ${escapeForTerminal(file)}`);
    if (out === undefined && !(await confirm('Write this file?', options)))
      return { command: undefined, cwd: '' };
    await writeClientFile(document, session, { client, file });
    const made = start(session, file);
    if (options['json'] === true)
      printJson({ client, id: session.id, file, cwd: session.cwd, command: made });
    return { command: made, cwd: session.cwd };
  })();
  if (command === undefined) return;
  const isStarted = out === undefined && options['start'] !== false && options['json'] !== true;
  if (isStarted) return runProgram(command, cwd);
  if (options['json'] !== true)
    print(escapeForTerminal(`cd ${shellWord(cwd)} && ${command.map(shellWord).join(' ')}`));
}
