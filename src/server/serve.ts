import { join } from 'node:path';
import type { Reprise } from '../engine/reprise.ts';
import { RepriseError } from '../errors.ts';
import { createApp } from './app.ts';
import { type Bound, placeOf } from './bind.ts';
import type { Logger, ModelByName, ServerConfig } from './context.ts';
import { isLoopback } from './guards.ts';
import { listen } from './listen.ts';
import { Metrics } from './metrics.ts';
import { loadTokenFile, parseToken } from './token-file.ts';

export interface ServeOptions {
  readonly reprise: Reprise;
  readonly config: ServerConfig;
  readonly logger: Logger;
  /** Where the token is made on the first start; unset: one has to be given. */
  readonly home?: string;
  readonly modelByName?: ModelByName;
  readonly version?: string;
  /** A socket that listens already, where the configuration says. */
  readonly bound?: Bound;
}

export interface Served {
  readonly url: string;
  /** Where the token can be read; null: it was given. */
  readonly tokenFile: string | null;
  /** Stops accepting, ends streams, and waits so long as the limits say for turns; the engine stays open. */
  close(): Promise<void>;
}

const SWEEP_MS = 100;

/** A running server. Whoever opened the engine closes it, after this. */
export async function serve({
  reprise,
  config,
  logger,
  home,
  modelByName,
  version,
  bound,
}: ServeOptions): Promise<Served> {
  const { host, port, limits } = placeOf(config);
  const { token, tokenFile } = await tokenOf({ ...config, host }, home);
  const closing = new AbortController();
  const metrics = new Metrics();
  const watching = metrics.watch(reprise, closing.signal);
  const endWatch = async (): Promise<void> => {
    closing.abort();
    await watching;
    metrics[Symbol.dispose]();
  };
  const app = createApp({
    reprise,
    config: { ...config, host, token },
    logger,
    closing: closing.signal,
    metrics,
    ...(modelByName !== undefined && { modelByName }),
    ...(version !== undefined && { version }),
  });
  const { url, server } = await listen({ app, host, port, limits, bound }).catch(async (error: unknown) => {
    await endWatch();
    throw error;
  });
  server.on('error', (err) => logger.error({ err }, 'could not take a connection'));
  logger.info({ url, tokenFile }, 'listening');
  return {
    url,
    tokenFile,
    close: async () => {
      if (closing.signal.aborted) return;
      logger.info({ running: metrics.running.size }, 'stopping');
      const stopped = new Promise<void>((resolve) => server.close(() => resolve()));
      closing.abort();
      server.closeIdleConnections();
      // What is answered from now on leaves a connection idle that its client would keep.
      const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS);
      const cut = setTimeout(() => server.closeAllConnections(), limits.graceMs);
      await stopped;
      clearInterval(sweep);
      clearTimeout(cut);
      await endWatch();
    },
  };
}

/** Beyond loopback nobody gets a token by default: whoever opens a door to a network says with which key. */
async function tokenOf(
  { host, token, tokenFile }: ServerConfig & { readonly host: string },
  home: string | undefined,
): Promise<{ readonly token: string; readonly tokenFile: string | null }> {
  if (token !== undefined) return { token: parseToken(token, 'REPRISE_TOKEN'), tokenFile: null };
  const isLocal = isLoopback(host);
  if (tokenFile !== undefined) return { token: await loadTokenFile(tokenFile, { make: isLocal }), tokenFile };
  if (!isLocal || home === undefined)
    throw new RepriseError('CONFIG_INVALID', `listening on ${host} needs a token that was chosen`, {
      details: { next: 'Set REPRISE_TOKEN, or name a file with --token-file.' },
    });
  const file = join(home, 'server-token');
  return { token: await loadTokenFile(file, { make: true }), tokenFile: file };
}
