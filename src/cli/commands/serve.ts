import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { loadConfig } from '../../config/load.ts';
import { modelBookFor } from '../../config/model-book-for.ts';
import { openConfiguredStore } from '../../config/open-configured-store.ts';
import type { Config } from '../../config/schema.ts';
import type { Reprise } from '../../engine/reprise.ts';
import type { Logger, ServerConfig } from '../../server/context.ts';
import { type Bound, bind, placeOf } from '../../server/security/bind.ts';
import type { Served } from '../../server/serve.ts';
import { ModelFlag } from '../model-flag.ts';
import { withProfile } from '../options.ts';
import { escapeForTerminal, print, printJson, say } from '../terminal/print.ts';
import { packageVersion } from '../version.ts';

/** Beyond what requests and turns may take to end: the process ends then, whatever runs. */
const CLOSE_MS = 1000;
/** Longer ones would end at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;
/** Of a process that the signal SIGHUP ends. */
const HANGUP_EXIT = 129;

/** `reprise serve`: runs until a signal comes. Prints where it is, in JSON when asked, and talks on stderr. */
export async function serveHome(options: Readonly<Record<string, unknown>>): Promise<void> {
  const { config, origins, warnings } = await withProfile(await loadConfig({ flags: options }), options);
  for (const warning of warnings) say(warning);
  // Requests are taken from now on, and wait. Nothing of a home is touched for a port that is taken or a wrong name.
  const place = placeOf(config.server);
  const bound = await bind(place);
  const models = modelBookFor(config);
  const modelFlag = new ModelFlag({ origins });
  await models.load(config.model).catch((error: unknown) => {
    leave(bound);
    throw error;
  });
  // The storage threads start while this one loads the server.
  let onWarning = (warning: string): void => say(escapeForTerminal(warning));
  const opening = openConfiguredStore(config, { signals: true, onWarning: (warning) => onWarning(warning) });
  opening.catch(() => undefined); // told below
  let engine: Reprise | undefined;
  let served: Served;
  let logger: ReturnType<typeof import('./serve-parts.ts').createLogger>;
  try {
    const { createLogger, openConfigured, serve } = await import('./serve-parts.ts');
    // At a terminal a person reads the log, unless it was said how it is written.
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
    // Only to a person: logs of a service are read by others.
    if (process.stderr.isTTY && tokenFile !== null) say(`Open ${url}/#token=${await readToken(tokenFile)}`);
    say(`${url} is a page to talk and look around, ${url}/docs the API; Ctrl-C stops it.`);
  }
  await stopped;
}

/** Who waits for an answer is told at once that there is none; open connections would keep the process. */
function leave({ server }: Bound): void {
  server.close();
  server.closeAllConnections();
}

/** A fragment is seen by no server and no proxy, and the page takes it out of the address at once. */
async function readToken(tokenFile: string): Promise<string> {
  return encodeURIComponent((await readFile(tokenFile, 'utf8')).trim());
}

/** A flag stands above the environment: a file that was named is meant, whatever REPRISE_TOKEN says. */
function serverConfig(
  server: Config['server'],
  { tokenFile }: Readonly<Record<string, unknown>>,
): ServerConfig {
  return { ...server, ...(tokenFile !== undefined && { token: undefined }) };
}

/** Settings that `reload` applies; the others are read once, at the start. */
const RELOADED =
  /^(?:server\.(?:token|tokenFile|allowedHosts|cors\b.*|limits\.(?!headerBytes).*)|log\.level)$/;

interface ReloadOptions {
  readonly logger: Logger & { level: string };
  readonly config: Config;
  readonly options: Readonly<Record<string, unknown>>;
}

/** SIGHUP reads the configuration again. A configuration that is not valid changes nothing. */
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

/** By path; values as JSON. */
function settingsIn(value: unknown, path: string = ''): Map<string, string> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return new Map([[path, JSON.stringify(value) ?? '']]);
  const rows = Object.entries(value).flatMap(([name, each]) => [
    ...settingsIn(each, path === '' ? name : `${path}.${name}`),
  ]);
  return new Map(rows);
}

/**
 * The first signal ends it in order: nothing new is taken, requests and turns may end, the store is closed. What has not
 * ended by then is left as a killed process leaves it: accepted messages run and turns are told as interrupted by
 * whoever starts next. A second signal does that at once.
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
