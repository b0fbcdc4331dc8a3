import { homedir } from 'node:os';
import { join, resolve } from 'node:path';

/** Where a home comes from, for people who wonder. */
export interface HomeLocation {
  readonly path: string;
  readonly origin: '--home' | 'REPRISE_HOME' | 'XDG_DATA_HOME' | 'default';
}

/** The only reader of the environment: flag, then REPRISE_HOME, then XDG_DATA_HOME, then ~/.reprise. */
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
