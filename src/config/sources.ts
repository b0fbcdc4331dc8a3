import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { closestName } from '../engine/closest-name.ts';
import { envPaths, SETTINGS } from './settings.ts';

/** Where a value comes from: `--home`, `REPRISE_HOME`, a file's path, or for a default what it is based on. */
export interface Origin {
  readonly source: 'flag' | 'env' | 'project' | 'user' | 'default';
  readonly name: string;
}

/** The settings of one source, by path. */
export type Values = Map<string, { readonly value: unknown; readonly origin: Origin }>;

const DEFAULT_MODELS = { anthropic: 'anthropic:claude-sonnet-4-5', openai: 'openai:gpt-5' } as const;

export function fromFlags(flags: Readonly<Record<string, unknown>>): Values {
  const values: Values = new Map();
  for (const { path, flag } of SETTINGS) {
    if (flag === undefined || !Object.hasOwn(flags, flag) || flags[flag] === undefined) continue;
    const name = `--${flag.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    values.set(path, { value: String(flags[flag]), origin: { source: 'flag', name } });
  }
  return values;
}

/** An empty variable counts as unset. */
export function fromEnv(env: NodeJS.ProcessEnv, warnings: string[]): Values {
  const values: Values = new Map();
  const known = envPaths();
  for (const [name, path] of known) {
    const value = env[name];
    if (value) values.set(path, { value, origin: { source: 'env', name } });
  }
  const bare = [...known.keys()].map((name) => name.replace(/^REPRISE_/, ''));
  for (const name of Object.keys(env)) {
    if (!name.startsWith('REPRISE_') || known.has(name)) continue;
    // Only a warning, because other programs may use variables with this prefix.
    const meant = closestName(name.slice('REPRISE_'.length), bare);
    if (meant !== undefined) warnings.push(`${name} is no setting. Did you mean REPRISE_${meant}?`);
  }
  return values;
}

export function defaults(env: NodeJS.ProcessEnv): Values {
  const values: Values = new Map();
  const { XDG_DATA_HOME } = env;
  const home = XDG_DATA_HOME ? join(resolve(XDG_DATA_HOME), 'reprise') : join(homedir(), '.reprise');
  const name = XDG_DATA_HOME ? 'XDG_DATA_HOME' : 'default';
  values.set('home', { value: home, origin: { source: 'default', name } });
  for (const { path, fallback } of SETTINGS) {
    if (fallback !== undefined)
      values.set(path, { value: fallback, origin: { source: 'default', name: 'default' } });
  }
  return values;
}

/** Uses the provider whose key is set; without a key, `offline`. Local model servers are used only if configured. */
export function chooseModel(values: Values): void {
  if (values.has('model')) return;
  for (const [provider, value] of Object.entries(DEFAULT_MODELS)) {
    const key = values.get(`models.${provider}.apiKey`);
    if (key === undefined) continue;
    values.set('model', { value, origin: { source: 'default', name: key.origin.name } });
    return;
  }
  values.set('model', { value: 'offline', origin: { source: 'default', name: 'default' } });
}
