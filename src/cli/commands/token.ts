import { loadConfig } from '../../config/load.ts';
import { failure } from '../../messages/failure.ts';
import { revokeTokenFile, rotateTokenFile, tokenFileIn } from '../../server/security/token-file.ts';
import { escapeForTerminal, printJson, say } from '../terminal/print.ts';

type Options = Readonly<Record<string, unknown>>;

/** `reprise token rotate|revoke`: changes the token file. A running server compares that file on every request. */
export async function token(action: 'rotate' | 'revoke', options: Options): Promise<void> {
  const file = await tokenFileOf(options);
  let isDone = true;
  if (action === 'rotate') await rotateTokenFile(file);
  else isDone = await revokeTokenFile(file);
  if (options['json'] === true) {
    printJson({ action, tokenFile: file, changed: isDone });
    return;
  }
  const shown = escapeForTerminal(file);
  if (!isDone) say(`There is no token in ${shown}: nothing to revoke.`);
  else if (action === 'rotate')
    say(`The new token is in ${shown}. The old one is refused from now on, and its streams end.`);
  else
    say(
      `The token in ${shown} is revoked. A running server refuses every request until there is a new one: reprise token rotate`,
    );
}

async function tokenFileOf(options: Options): Promise<string> {
  const { config, origins } = await loadConfig({ flags: options });
  const { token: given, tokenFile } = config.server;
  const isNamed = typeof options['tokenFile'] === 'string';
  if (given === undefined || isNamed) return tokenFile ?? tokenFileIn(config.home);
  const { name = 'REPRISE_TOKEN' } = origins.get('server.token') ?? {};
  throw failure('CONFIG_INVALID', 'cli.tokenNotInFile', { name });
}
