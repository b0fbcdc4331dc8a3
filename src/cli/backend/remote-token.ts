import { readFile } from 'node:fs/promises';
import type { LoadedConfig } from '../../config/load.ts';
import { failure } from '../../messages/failure.ts';
import { tokenFileIn, tokenUnreadable } from '../../server/security/token-file.ts';
import { liveServers, ownServerAt } from '../../server/server-record.ts';

export interface RemoteAccess {
  readonly url: string;
  readonly token: string;
}

/**
 * Which token goes to an address. One that was named for this call (`--token-file`, `REPRISE_TOKEN_FILE`,
 * `REPRISE_TOKEN`) goes wherever the caller says. The token of this home goes only to a server of this home.
 */
export async function remoteAccess(url: string, { config, origins }: LoadedConfig): Promise<RemoteAccess> {
  const isNamed = (path: string): boolean => ['flag', 'env'].includes(origins.get(path)?.source ?? '');
  const { token, tokenFile } = config.server;
  if (origins.get('server.tokenFile')?.source === 'flag' && tokenFile !== undefined)
    return { url, token: await tokenIn(tokenFile) };
  if (token !== undefined && isNamed('server.token')) return { url, token };
  if (tokenFile !== undefined && isNamed('server.tokenFile')) return { url, token: await tokenIn(tokenFile) };
  const own = await ownServerAt(config.home, url);
  if (own !== undefined)
    return { url: own, token: token ?? (await tokenIn(tokenFile ?? tokenFileIn(config.home))) };
  const servers = (await liveServers(config.home)).map((server) => server.url);
  throw failure('UNAUTHORIZED', 'cli.noToken', { url, home: config.home, servers });
}

async function tokenIn(file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (cause) {
    throw tokenUnreadable(file, cause);
  }
}
