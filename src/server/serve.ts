import type { Reprise } from '../engine/reprise.ts';
import { failure } from '../messages/failure.ts';
import { createContext, createRoutes } from './app.ts';
import type { ListModels, ModelByName } from './context.ts';
import { answerWith, listen } from './listen.ts';
import { Metrics } from './metrics.ts';
import { applyLimits, type Bound, placeOf } from './security/bind.ts';
import { isLoopback } from './security/guards.ts';
import { resolveLimits } from './security/limits.ts';
import { ServerToken, type TokenOrigin } from './security/server-token.ts';
import { loadTokenFile, parseToken, tokenFileIn } from './security/token-file.ts';
import type { Logger, ServerConfig } from './server-config.ts';
import { recordServer } from './server-record.ts';

export interface ServeOptions {
  readonly reprise: Reprise;
  readonly config: ServerConfig;
  readonly logger: Logger;
  /** The home in which the token is created on the first start; if unset, a token must be configured. */
  readonly home?: string;
  readonly modelByName?: ModelByName;
  readonly listModels?: ListModels;
  readonly version?: string;
  /** A socket that already listens at the configured address. */
  readonly bound?: Bound;
}

export interface Served {
  readonly url: string;
  /** Where the token is stored; null if it was configured directly. */
  readonly tokenFile: string | null;
  /**
   * Applies a changed configuration: token, host names, origins and limits. Host, port and `limits.headerBytes` stay as
   * they were at the start. Throws and changes nothing if the configuration is not valid.
   */
  reload(config: ServerConfig): Promise<void>;
  /** Stops accepting requests, ends streams, and waits for turns within the limits. The engine stays open. */
  close(): Promise<void>;
}

const SWEEP_MS = 100;
const DROP_LOG_MS = 10_000;

/** Starts a server. The caller closes the engine after the server. */
export async function serve({
  reprise,
  config,
  logger,
  home,
  modelByName,
  listModels,
  version,
  bound,
}: ServeOptions): Promise<Served> {
  const { host, port, limits } = placeOf(config);
  const origin = tokenOrigin({ ...config, host }, home);
  // Only a start creates a token. A running server does not: a missing file means the token was revoked.
  if ('file' in origin) await loadTokenFile(origin.file, { make: isLoopback(host) });
  const token = new ServerToken(origin, logger);
  const closing = new AbortController();
  const metrics = new Metrics();
  const watching = metrics.watch(reprise, closing.signal);
  const endWatch = async (): Promise<void> => {
    closing.abort();
    await watching;
    metrics[Symbol.dispose]();
    token[Symbol.dispose]();
  };
  const context = createContext({
    ...{ reprise, config: { ...config, host }, token, logger, closing: closing.signal, metrics },
    ...{ modelByName, listModels, version },
  });
  const socket = await listen({ app: createRoutes(context), host, port, limits, bound }).catch(
    async (error: unknown) => {
      await endWatch();
      throw error;
    },
  );
  const { url, server } = socket;
  const tokenFile = 'file' in origin ? origin.file : null;
  reportDrops(socket, { logger, metrics });
  server.on('error', (err) => logger.error({ err }, 'could not take a connection'));
  const forget = home === undefined ? undefined : await recordServer(home, url, logger);
  logger.info({ url, tokenFile }, 'listening');
  return {
    url,
    tokenFile,
    reload: async (given) => {
      const next = { ...given, host };
      const limits = resolveLimits(next.limits);
      token.use(tokenOrigin(next, home));
      context.places.max = limits.streams;
      applyLimits(socket, limits);
      answerWith(createRoutes({ ...context, config: next, limits }), socket);
    },
    close: async () => {
      if (closing.signal.aborted) return;
      logger.info({ running: metrics.running.size }, 'stopping');
      const stopped = new Promise<void>((resolve) => server.close(() => resolve()));
      closing.abort();
      await forget?.();
      server.closeIdleConnections();
      // A keep-alive connection becomes idle after its current response; close it then.
      const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS);
      const cut = setTimeout(() => server.closeAllConnections(), limits.graceMs);
      await stopped;
      clearInterval(sweep);
      clearTimeout(cut);
      await endWatch();
    },
  };
}

/** Counts every connection that the limit closes; logs the first one at once, then one line for all of the interval. */
function reportDrops(
  { connections }: Bound,
  { logger, metrics }: { readonly logger: Logger; readonly metrics: Metrics },
): void {
  let dropped = 0;
  let timer: NodeJS.Timeout | undefined;
  const log = (): void => {
    timer = undefined;
    if (dropped === 0) return;
    logger.warn(
      { dropped, limit: connections.max },
      'closed connections without a valid token, or new ones, to stay within server.limits.connections',
    );
    dropped = 0;
    timer = setTimeout(log, DROP_LOG_MS);
    timer.unref();
  };
  connections.onDrop((reason) => {
    metrics.add('reprise_connections_dropped_total', 'Connections closed at the limit.', { reason });
    dropped++;
    if (timer === undefined) log();
  });
}

/** Beyond loopback no token is created: the operator must configure one. */
function tokenOrigin(
  { host, token, tokenFile }: ServerConfig & { readonly host: string },
  home: string | undefined,
): TokenOrigin {
  if (token !== undefined) return { token: parseToken(token, 'REPRISE_TOKEN') };
  if (tokenFile !== undefined) return { file: tokenFile };
  if (!isLoopback(host) || home === undefined) throw failure('CONFIG_INVALID', 'server.needsToken', { host });
  return { file: tokenFileIn(home) };
}
