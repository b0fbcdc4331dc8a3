import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type HomeLocation, loadHome, loadSessionCacheTtl } from '../config/load.ts';
import { openStore } from '../config/open.ts';
import { RepriseError } from '../errors.ts';
import type { Store } from '../store/store.ts';

export interface HomeOptions {
  readonly home?: unknown;
}

export function homeOf({ home }: HomeOptions): HomeLocation {
  return loadHome(typeof home === 'string' ? { flag: home } : {});
}

/** Commands that only look never make a home: a wrong path is an error, not an empty answer. */
export async function openHome(options: HomeOptions): Promise<Store> {
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
    ...(sessionCacheTtlMs !== undefined && { sessionCacheTtlMs }),
  });
}
