import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { loadConfig } from '../../config/load.ts';
import { modelBookFor } from '../../config/model-book-for.ts';
import { listModels } from '../../config/model-list.ts';
import { openConfiguredStore } from '../../config/open-configured-store.ts';
import type { Config } from '../../config/schema.ts';
import type { Reprise } from '../../engine/reprise.ts';
import { type Bound, bind, placeOf } from '../../server/security/bind.ts';
import type { Served } from '../../server/serve.ts';
import type { Logger, ServerConfig } from '../../server/server-config.ts';
import { ModelFlag } from '../model-flag.ts';
import { withProfile } from '../options.ts';
import { escapeForTerminal, print, printJson, say } from '../terminal/print.ts';
import { packageVersion } from '../version.ts';

/** Added to the time that requests and turns may take to finish; after it the process ends in any case. */
const CLOSE_MS = 1000;
/** setTimeout fires at once for longer delays. */
const MAX_TIMER_MS = 2 ** 31 - 1;
/** Exit code of a process that was ended by SIGHUP. */
const HANGUP_EXIT = 129;

/**
 * `reprise serve`: runs until a signal arrives. Prints its address on stdout (JSON with --json), messages on stderr.
 */
export async function serveHome(options: Readonly<Record<string, unknown>>): Promise<void> {
  const { config, origins, warnings } = await withProfile(await loadConfig({ flags: options }), options);
  for (const warning of warnings) say(warning);
  // Requests that arrive from now on wait. If the port is taken or the host is wrong, the home is not touched.
  const place = placeOf(config.server);
  const bound = await bind(place);
  const models = modelBookFor(config);
  const modelFlag = new ModelFlag({ origins });
  await models.load(config.model).catch((error: unknown) => {
    leave(bound);
    throw error;
  });
  // Open the store while the server modules load, to start faster.
  let onWarning = (warning: string): void => say(escapeForTerminal(warning));
  const opening = openConfiguredStore(config, { signals: true, onWarning: (warning) => onWarning(warning) });
  opening.catch(() => undefined); // awaited below, where a failure is reported
  let engine: Reprise | undefined;
  let served: Served;
  let logger: ReturnType<typeof import('./serve-parts.ts').createLogger>;
  try {
    const { createLogger, openConfigured, serve } = await import('./serve-parts.ts');
    // On a terminal the log is printed for people, unless log.format is configured.
    const isRead = process.stderr.isTTY === true && origins.get('log.format')?.source === 'default';
    logger = createLogger(isRead ? { ...config.log, format: 'pretty' } : config.log);
    onWarning = (warning) => logger.warn({}, warning);
    const reprise = await openConfigured(config, {
      store: await opening,
      models,
      modelWins: (record) => modelFlag.wins(record),
      onWarning,
    });
    engine = reprise;
    served = await serve({
      reprise,
      config: serverConfig(config.server, options),
      logger,
      home: config.home,
      modelByName: (name) => models.load(name),
      listModels: () => listModels(config),
      version: packageVersion(),
      bound,
    });
  } catch (error) {
    leave(bound);
    await (engine ?? (await opening))[Symbol.asyncDispose]();
    throw error;
  }
  const reprise = engine;
  reloadOnSignal(served, { logger, config, options });
  const stopped = stopOnSignal(served, reprise, { logger, graceMs: place.limits.graceMs });
  const { url, tokenFile } = served;
  if (options['json'] === true) printJson({ url, tokenFile, pid: process.pid });
  else {
    print(url);
    say(tokenFile === null ? 'The token is the one that was given.' : `The token is in ${tokenFile}.`);
    // The link contains the token, so it is shown on a terminal only and never written to a service's log.
    if (process.stderr.isTTY && tokenFile !== null) say(`Open ${url}/#token=${await readToken(tokenFile)}`);
    if (options['open'] === true) await openPage(url, tokenFile);
    say(`${url} is the web page, ${url}/docs the API reference. Press Ctrl-C to stop.`);
  }
  await stopped;
}

/** Closes open connections: clients that wait for an answer get an error at once, and the process can end. */
function leave({ server }: Bound): void {
  server.close();
  server.closeAllConnections();
}

async function openPage(url: string, tokenFile: string | null): Promise<void> {
  const { openInBrowser } = await import('../terminal/open-browser.ts');
  const link = tokenFile === null ? url : `${url}/#token=${await readToken(tokenFile)}`;
  if (!(await openInBrowser(link))) say('No browser could be started. Open the address above yourself.');
}

/** The token is in the URL fragment, which is sent to no server or proxy. The page removes it from the address bar. */
async function readToken(tokenFile: string): Promise<string> {
  return encodeURIComponent((await readFile(tokenFile, 'utf8')).trim());
}

/** A --token-file flag outranks REPRISE_TOKEN from the environment. */
function serverConfig(
  server: Config['server'],
  { tokenFile }: Readonly<Record<string, unknown>>,
): ServerConfig {
  return { ...server, ...(tokenFile !== undefined && { token: undefined }) };
}

/** Settings that a reload applies; all others are read once, at the start. */
const RELOADED =
  /^(?:server\.(?:token|tokenFile|allowedHosts|cors\b.*|limits\.(?!headerBytes).*)|log\.level)$/;

interface ReloadOptions {
  readonly logger: Logger & { level: string };
  readonly config: Config;
  readonly options: Readonly<Record<string, unknown>>;
}

/** SIGHUP reloads the configuration. An invalid configuration changes nothing. */
function reloadOnSignal(served: Served, { logger, config, options }: ReloadOptions): void {
  let current = config;
  const reload = async (): Promise<void> => {
    const { config: next } = await withProfile(await loadConfig({ flags: options }), options);
    await served.reload(serverConfig(next.server, options));
    logger.level = next.log.level;
    const changed = changedSettings(current, next);
    current = next;
    const needsRestart = changed.filter((path) => !RELOADED.test(path));
    logger.info({ changed, needsRestart }, 'configuration reloaded');
  };
  const wasAtTerminal = process.stdin.isTTY || process.stderr.isTTY;
  process.on('SIGHUP', () => {
    // The terminal that started the server was closed, so the server ends like any other command.
    if (wasAtTerminal && !hasTerminal()) process.exit(HANGUP_EXIT);
    reload().catch((err: unknown) => logger.error({ err }, 'the configuration was not reloaded'));
  });
}

function hasTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'));
    return true;
  } catch {
    return false; // hung up
  }
}

function changedSettings(before: object, after: object): string[] {
  const [old, fresh] = [settingsIn(before), settingsIn(after)];
  const paths = new Set([...old.keys(), ...fresh.keys()]);
  return [...paths].filter((path) => old.get(path) !== fresh.get(path));
}

/** Settings by path, with values as JSON text. */
function settingsIn(value: unknown, path: string = ''): Map<string, string> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return new Map([[path, JSON.stringify(value) ?? '']]);
  const rows = Object.entries(value).flatMap(([name, each]) => [
    ...settingsIn(each, path === '' ? name : `${path}.${name}`),
  ]);
  return new Map(rows);
}

/**
 * The first signal stops the server in order: it accepts no new requests, lets requests and turns finish, and closes
 * the store. What has not finished in time is abandoned as in a crash: the next process runs the accepted messages and
 * reports the interrupted turns. A second signal abandons everything at once.
 */
function stopOnSignal(
  served: Served,
  reprise: Reprise,
  { logger, graceMs }: { readonly logger: Logger; readonly graceMs: number },
): Promise<void> {
  return new Promise((resolve) => {
    let isStopping = false;
    const stop = (signal: NodeJS.Signals): void => {
      if (isStopping) process.exit(signal === 'SIGINT' ? 130 : 143);
      isStopping = true;
      const late = setTimeout(
        () => {
          logger.warn({}, 'turns are left to the next start');
          process.exit(0);
        },
        Math.min(graceMs + CLOSE_MS, MAX_TIMER_MS),
      );
      served
        .close()
        .then(() => reprise[Symbol.asyncDispose]())
        .catch((err: unknown) => logger.error({ err }, 'could not stop in order'))
        .finally(() => {
          clearTimeout(late);
          logger.info({}, 'stopped');
          resolve();
        });
    };
    process.on('SIGTERM', stop);
    process.on('SIGINT', stop);
  });
}
