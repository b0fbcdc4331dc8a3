import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type HomeLocation, loadHome, loadSessionCacheTtl } from '../config/load.ts';
import { openStore } from '../config/open.ts';
import { RepriseError } from '../errors.ts';
import type { Store } from '../store/store.ts';
import { say } from './print.ts';

export interface HomeOptions {
  readonly home?: unknown;
}

export function homeOf({ home }: HomeOptions): HomeLocation {
  return loadHome(typeof home === 'string' ? { flag: home } : {});
}

const POLL_MS = 100;
const TALK_MS = 2000;

/**
 * Commands that only look never make a home: a wrong path is an error, not an empty answer. While an index is made
 * again they wait for it, because a list of half the sessions looks like a list of all.
 */
export async function openHome(options: HomeOptions): Promise<Store> {
  const store = await openHomeAsItIs(options);
  for (let waited = 0; ; waited += POLL_MS) {
    const { rebuilding } = await store.stats();
    if (rebuilding === undefined) return store;
    if (waited % TALK_MS === 0) say(`reading transcripts again: ${rebuilding.done} of ${rebuilding.total}`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

export async function openHomeAsItIs(options: HomeOptions): Promise<Store> {
  const { path, origin } = homeOf(options);
  if (!existsSync(join(path, 'control.db')) && !existsSync(join(path, 'agents'))) {
    throw new RepriseError('NOT_FOUND', `no Reprise home at ${path} (from ${origin})`, {
      details: { next: 'Name another with --home, or set REPRISE_HOME.' },
    });
  }
  const sessionCacheTtlMs = loadSessionCacheTtl();
  return openStore({
    kind: 'jsonl',
    home: path,
    signals: true,
    ...(sessionCacheTtlMs !== undefined && { sessionCacheTtlMs }),
  });
}
