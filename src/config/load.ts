import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import type { RepriseError } from '../errors.ts';
import { failure } from '../messages/failure.ts';
import { type ConfigFile, readConfigFile } from './config-file.ts';
import { filesOf, kindIn, STORE_FILES, unusedIn } from './home-stores.ts';
import type { Config } from './schema.ts';
import { settingAt } from './settings.ts';
import { chooseModel, defaults, fromEnv, fromFlags, type Origin, type Values } from './sources.ts';
import type { Trust } from './trust.ts';

export interface LoadOptions {
  /** Command line options by commander's names; options that are not settings are ignored. */
  readonly flags?: Readonly<Record<string, unknown>>;
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
}

export type { Origin };

export interface LoadedConfig {
  readonly config: Config;
  /** Where each setting with a value comes from, by path such as `server.port`. */
  readonly origins: ReadonlyMap<string, Origin>;
  /** One line each, for stderr. */
  readonly warnings: readonly string[];
  readonly files: ConfigFiles;
}

export interface ConfigFiles {
  readonly project: string;
  readonly user: string;
  /** The user's configuration folder, which contains the list of trusted files. */
  readonly folder: string;
  /** Settings in the project file that are ignored until the file is trusted. */
  readonly ignored: readonly string[];
  /** Settings that take effect when the file is trusted. */
  readonly protected: ReadonlyMap<string, unknown>;
  /** Path and hash of the project file; undefined without a project file. */
  readonly trust: Trust | undefined;
}

export const PROJECT_FILE = 'reprise.config.json';

/**
 * Merges flags over environment over ./reprise.config.json over the user's file over defaults. Only this module reads
 * the environment. The user's file is in the configuration folder, not in the home: it can set the path of the home,
 * and a home copied from another person must not control the user's program.
 */
/** Other agents keep their files where the environment says. */
export const environment = (): NodeJS.ProcessEnv => process.env;

export async function loadConfig(options: LoadOptions = {}): Promise<LoadedConfig> {
  const { flags = {}, env = process.env, cwd = process.cwd() } = options;
  const folder = join(configHome(env), 'reprise');
  const project = join(resolve(cwd), PROJECT_FILE);
  const user = join(folder, 'config.json');
  const warnings: string[] = [];

  const given = [fromFlags(flags), fromEnv(env, warnings)];
  const projectFile = readConfigFile(project);
  const userFile = readConfigFile(user);
  const isPlain = given.every((values) => [...values.keys()].every((path) => settingAt(path)?.text === true));
  const hasFiles = projectFile !== undefined || userFile !== undefined;
  const check = isPlain && !hasFiles ? undefined : await import('./check-settings.ts');

  const texts = given.map((values) => readTexts(values, check, cwd));
  const said = await fromFile(projectFile, 'project', check);
  const own = await fromFile(userFile, 'user', check);
  const secrets = [...own.keys()].filter((path) => settingAt(path)?.secret === true);
  if (userFile?.isOpen === true && secrets.length > 0)
    warnings.push(`${user} has ${secrets.join(', ')} and can be read by others. Run: chmod 600 ${user}`);

  const guarded = new Map([...said].filter(([path]) => settingAt(path)?.free !== true));
  const { trust, isTrusted } = await trustIn(folder, projectFile, guarded);
  const ignored = isTrusted ? [] : [...guarded.keys()];
  for (const path of ignored) said.delete(path);
  if (ignored.length > 0)
    warnings.push(
      `${project} is not trusted: ${ignored.join(', ')} ignored. To allow it: reprise config trust`,
    );

  const merged = defaults(env);
  for (const source of [...texts, said, own].toReversed())
    for (const [path, entry] of source) merged.set(path, entry);
  chooseModel(merged);
  chooseStore(merged, warnings);
  const config = build(merged);
  const origins = new Map([...merged].map(([path, { origin }]) => [path, origin]));
  check?.checkTogether(config, (path) => nearestOrigin(origins, path));
  const asked = new Map([...guarded].map(([path, { value }]) => [path, value]));
  return { config, origins, warnings, files: { project, user, folder, ignored, protected: asked, trust } };
}

type Check = typeof import('./check-settings.ts') | undefined;

/** A relative XDG_CONFIG_HOME is ignored, as its specification requires: it would depend on the current folder. */
function configHome({ XDG_CONFIG_HOME: given = '' }: NodeJS.ProcessEnv): string {
  return isAbsolute(given) ? given : join(homedir(), '.config');
}

function readTexts(values: Values, check: Check, cwd: string): Values {
  const read: Values = new Map();
  for (const [path, { value, origin }] of values) {
    const isText = settingAt(path)?.text === true;
    if (isText && value === '') throw emptyText(path, origin);
    const meant = isText ? value : check?.checkText(path, String(value), { by: origin.name });
    read.set(path, { value: placed(path, meant, cwd), origin });
  }
  return read;
}

async function fromFile(
  file: ConfigFile | undefined,
  source: Origin['source'],
  check: Check,
): Promise<Values> {
  if (file === undefined || check === undefined) return new Map();
  const { parseJson } = await import('./parse-json.ts');
  const { value: tree, placeOf } = parseJson(file.text, file.path);
  const found = check.checkTree(tree, { by: file.path, placeOf });
  const origin: Origin = { source, name: file.path };
  const base = dirname(file.path);
  return new Map([...found].map(([path, value]) => [path, { value: placed(path, value, base), origin }]));
}

async function trustIn(
  folder: string,
  file: ConfigFile | undefined,
  guarded: Values,
): Promise<{ readonly trust: Trust | undefined; readonly isTrusted: boolean }> {
  if (file === undefined) return { trust: undefined, isTrusted: false };
  const { isTrusted, trustOf } = await import('./trust.ts');
  const trust = trustOf(file.path, file.bytes);
  return { trust, isTrusted: guarded.size > 0 && isTrusted(folder, trust) };
}

/** If no store kind is configured, the files in the home decide. */
function chooseStore(values: Values, warnings: string[]): void {
  if (values.has('store.kind')) return;
  const home = String(values.get('home')?.value);
  const kind = kindIn(home);
  const file = join(home, STORE_FILES[kind]);
  values.set('store.kind', {
    value: kind,
    origin: { source: 'default', name: existsSync(file) ? file : 'default' },
  });
  const other = unusedIn(home, kind);
  // With a server URL this home is not used.
  if (other === undefined || values.has('url')) return;
  warnings.push(
    `${home} holds two stores, and ${filesOf(home, other)} is not used. To list its sessions: reprise ls --home ${home} --store ${other}. "reprise doctor" shows how to merge both.`,
  );
}

/** The origin of the setting that contains a path, or of one inside it. */
function nearestOrigin(origins: ReadonlyMap<string, Origin>, path: string): string {
  for (const [name, origin] of origins)
    if (`${name}.`.startsWith(`${path}.`) || `${path}.`.startsWith(`${name}.`)) return origin.name;
  return 'default';
}

/** A relative path is relative to the file or folder that sets it. */
function placed(path: string, value: unknown, base: string): unknown {
  if (settingAt(path)?.folder !== true) return value;
  if (Array.isArray(value)) return value.map((each) => placed(path, each, base));
  if (typeof value !== 'string') return value;
  return resolve(base, value === '~' || value.startsWith('~/') ? join(homedir(), value.slice(1)) : value);
}

/** All values are checked by now, so the result matches the schema. */
function build(values: Values): Config {
  const config: Record<string, unknown> = {
    models: {},
    compaction: {},
    agents: {},
    session: {},
    server: { limits: {} },
  };
  for (const [path, { value }] of values) {
    const steps = path.split('.');
    const last = steps.pop() ?? '';
    let node = config;
    // Safe from prototype names: the schema checked names in files, and agent ids have a grammar.
    for (const step of steps) {
      node[step] ??= {};
      node = node[step] as Record<string, unknown>;
    }
    if (settingAt(path) !== undefined || !Object.hasOwn(node, last)) node[last] = value;
  }
  return config as unknown as Config;
}

function emptyText(path: string, { name }: Origin): RepriseError {
  return failure(
    'CONFIG_INVALID',
    'setting.empty',
    { origin: name },
    { details: { field: path, from: name } },
  );
}
