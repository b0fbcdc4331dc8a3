import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type HomeLocation, loadHome, loadSessionCacheTtl } from '../config/load.ts';
import { openStore } from '../config/open.ts';
import { RepriseError } from '../errors.ts';
import type { Store } from '../store/store.ts';
import { Progress } from './progress.ts';

export interface HomeOptions {
  readonly home?: unknown;
  readonly store?: unknown;
  readonly url?: unknown;
}

/** Both keep a file of their own in the home, by which they are known. */
const KINDS = { jsonl: 'control.db', sqlite: 'store.db' } as const;

export function homeOf({ home }: HomeOptions): HomeLocation {
  return loadHome(typeof home === 'string' ? { flag: home } : {});
}

const POLL_MS = 100;

/**
 * Commands that only look never make a home: a wrong path is an error, not an empty answer. While an index is made
 * again they wait for it, because a list of half the sessions looks like a list of all.
 */
export async function openHome(options: HomeOptions): Promise<Store> {
  const store = await openHomeAsItIs(options);
  using progress = new Progress('reading transcripts again');
  for (;;) {
    const { rebuilding } = await store.stats();
    if (rebuilding === undefined) return store;
    progress.show(rebuilding.done, rebuilding.total);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

export async function openHomeAsItIs(options: HomeOptions): Promise<Store> {
  if (typeof options.url === 'string') throw notRemote(options.url);
  const { path, origin } = homeOf(options);
  const kind = storeKind(options, path);
  if (!existsSync(join(path, KINDS[kind])) && !(kind === 'jsonl' && existsSync(join(path, 'agents')))) {
    throw new RepriseError('NOT_FOUND', `no Reprise home at ${path} (from ${origin})`, {
      details: { next: 'Name another with --home, or set REPRISE_HOME; "reprise" alone makes one.' },
    });
  }
  const sessionCacheTtlMs = loadSessionCacheTtl();
  return openStore({
    kind,
    home: path,
    signals: true,
    ...(sessionCacheTtlMs !== undefined && { sessionCacheTtlMs }),
  });
}

/** As it was asked for, else as the home is. */
function storeKind({ store }: HomeOptions, path: string): keyof typeof KINDS {
  if (store === 'jsonl' || store === 'sqlite') return store;
  if (store !== undefined)
    throw new RepriseError('INVALID_INPUT', `no store "${String(store)}" can be opened here`, {
      details: { next: 'Use --store jsonl or --store sqlite.' },
    });
  const isSqlite = !existsSync(join(path, KINDS.jsonl)) && existsSync(join(path, KINDS.sqlite));
  return isSqlite ? 'sqlite' : 'jsonl';
}

function notRemote(url: string): RepriseError {
  return new RepriseError('INVALID_INPUT', `this command works on a home, not through ${url}`, {
    details: { next: 'Run it where the home is, without --url and REPRISE_URL.' },
  });
}
