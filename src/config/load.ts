import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { RepriseError } from '../errors.ts';

/** Where a home comes from, for people who wonder. */
export interface HomeLocation {
  readonly path: string;
  readonly origin: '--home' | 'REPRISE_HOME' | 'XDG_DATA_HOME' | 'default';
}

/** This file is the only reader of the environment. A home: flag, then REPRISE_HOME, then XDG_DATA_HOME, then ~/.reprise. */
export function loadHome({
  flag,
  env = process.env,
}: {
  readonly flag?: string;
  readonly env?: NodeJS.ProcessEnv;
} = {}): HomeLocation {
  if (flag !== undefined) return { path: resolve(flag), origin: '--home' };
  const { REPRISE_HOME, XDG_DATA_HOME } = env;
  if (REPRISE_HOME) return { path: resolve(REPRISE_HOME), origin: 'REPRISE_HOME' };
  if (XDG_DATA_HOME) return { path: join(resolve(XDG_DATA_HOME), 'reprise'), origin: 'XDG_DATA_HOME' };
  return { path: join(homedir(), '.reprise'), origin: 'default' };
}

/** REPRISE_SESSION_CACHE_TTL_MS: how long a session stays warm after its last use; unset, the store decides. */
export function loadSessionCacheTtl(env: NodeJS.ProcessEnv = process.env): number | undefined {
  const text = env['REPRISE_SESSION_CACHE_TTL_MS'];
  if (text === undefined || text === '') return undefined;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new RepriseError('CONFIG_INVALID', `REPRISE_SESSION_CACHE_TTL_MS is milliseconds, not ${text}`);
}
