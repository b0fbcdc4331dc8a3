import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { type LocalKind, STORE_FILES, storesIn } from '../../config/home-stores.ts';
import { loadConfig } from '../../config/load.ts';
import { openFittingStore, openStore } from '../../config/open.ts';
import type { Config } from '../../config/schema.ts';
import type { RepriseError } from '../../errors.ts';
import { failure } from '../../messages/failure.ts';
import type { Store } from '../../store/port/store.ts';
import { ModelFlag } from '../model-flag.ts';
import type { Options } from '../options.ts';
import { escapeForTerminal, say } from '../terminal/print.ts';
import { Progress } from '../terminal/progress.ts';
import { shellWord } from '../terminal/shell-word.ts';

export interface Home {
  readonly path: string;
  /** Which flag, variable or file set the path, to show to the user. */
  readonly origin: string;
  /** With a `postgres` store the home folder holds only workspaces and the server token. */
  readonly kind: LocalKind | 'postgres';
  /** The store kind was configured, rather than detected from the files in the home. */
  readonly isKindSaid: boolean;
  readonly config: Config;
  readonly modelFlag: ModelFlag;
}

/** Finds the home from flags, environment and configuration files. */
export async function homeOf(options: Options): Promise<Home> {
  if (typeof options['url'] === 'string') throw notRemote(options['url']);
  const { config, origins, warnings } = await loadConfig({ flags: options });
  for (const warning of warnings) say(escapeForTerminal(warning));
  const {
    home: path,
    store: { kind },
  } = config;
  if (kind === 'memory') throw failure('INVALID_INPUT', 'cli.memoryHome');
  const origin = origins.get('home')?.name ?? 'default';
  if (kind !== 'postgres') await assertAccessible(path, origin);
  const modelFlag = new ModelFlag({ origins });
  const isKindSaid = origins.get('store.kind')?.source !== 'default';
  return { path, origin, kind, isKindSaid, config, modelFlag };
}

/** Without this check an unreadable home would look like an empty one, because its files cannot be found. */
async function assertAccessible(path: string, origin: string): Promise<void> {
  try {
    await access(path, constants.R_OK | constants.X_OK);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (code !== 'EACCES' && code !== 'EPERM') return;
    throw failure(
      'FORBIDDEN',
      'cli.homeForbidden',
      { home: path, origin: originName(origin), reason: code, path: shellWord(path) },
      { cause: error },
    );
  }
}

/** Where a setting comes from, as text for messages. */
export function saidBy(origin: string): string {
  return origin === 'default' ? 'the default' : `from ${origin}`;
}

/** As a parameter of a message. */
function originName(origin: string): string | null {
  return origin === 'default' ? null : origin;
}

const POLL_MS = 100;

/**
 * Opens a home that exists: a wrong path is an error, not an empty answer. Waits while the index is being rebuilt,
 * because a list of half the sessions would look complete.
 */
export async function openHome(options: Options): Promise<Store> {
  return (await openHomeWith(await homeOf(options))).store;
}

/** Opens a home for reading only. Pending recovery of a local home is done first; a database is left as it is. */
export async function openHomeToRead(home: Home): Promise<Store> {
  if (home.kind === 'postgres') return openStore({ ...home.config.store, kind: home.kind, readOnly: true });
  return (await openHomeWith(home)).store;
}

export async function openHomeWith(home: Home): Promise<{ readonly store: Store; readonly home: Home }> {
  const store = await openHomeAsItIs(home);
  await waitForCounts(store);
  return { store, home };
}

interface WaitOptions {
  /** Without it, waits until every transcript was read. */
  readonly atMostMs?: number;
}

/**
 * Waits, with a progress bar, while a lost index is rebuilt. The titles of all transcripts that can be read are always
 * waited for.
 */
export async function waitForCounts(
  store: Store,
  { atMostMs = Number.POSITIVE_INFINITY }: WaitOptions = {},
): Promise<void> {
  using progress = new Progress('rebuilding the index, transcripts');
  const until = performance.now() + atMostMs;
  for (let listedBefore = -1; ; ) {
    const { rebuilding } = await store.stats();
    if (rebuilding === undefined) return;
    const { done, total, listed } = rebuilding;
    if (performance.now() > until && (listed === total || listed === listedBefore)) return;
    listedBefore = listed;
    progress.show(listed < total ? listed : done, total);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

export async function openHomeAsItIs({ path, origin, kind, config }: Home): Promise<Store> {
  if (kind === 'postgres') return openStore({ ...config.store, kind });
  if (storesIn(path).length === 0) {
    throw failure('NOT_FOUND', 'cli.noHome', { home: path, origin: originName(origin) });
  }
  const { kind: _, url: __, ...rest } = config.store;
  const readOnly = await isOnlyRead({ path, kind });
  const onWarning = (warning: string): void => say(escapeForTerminal(warning));
  return openFittingStore({ ...rest, kind, home: path, signals: true, readOnly, onWarning });
}

const reportedPaths: Set<string> = new Set();

/**
 * Without write permission the home is opened for reading: the user sees one notice, and commands that write are
 * refused.
 */
export async function isOnlyRead({ path, kind }: Pick<Home, 'path' | 'kind'>): Promise<boolean> {
  if (kind === 'postgres') return false;
  const places = [path, join(path, STORE_FILES[kind])];
  const areWritable = await Promise.all(places.map(isWritable));
  if (areWritable.every(Boolean)) return false;
  if (!reportedPaths.has(path)) say(`read-only: no permission to write ${escapeForTerminal(path)}`);
  reportedPaths.add(path);
  return true;
}

/** A missing path counts as writable, because the command creates it. */
function isWritable(place: string): Promise<boolean> {
  return access(place, constants.W_OK).then(
    () => true,
    ({ code }: NodeJS.ErrnoException) => code === 'ENOENT',
  );
}

function notRemote(url: string): RepriseError {
  return failure('INVALID_INPUT', 'cli.needsHome', { url });
}
