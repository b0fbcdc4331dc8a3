import { loadConfig, PROJECT_FILE } from '../../config/load.ts';
import { maskedValue } from '../../config/mask.ts';
import { SETTINGS } from '../../config/settings.ts';
import { rememberTrust } from '../../config/trust.ts';
import { failure } from '../../messages/failure.ts';
import { escapeForTerminal, print, printJson, say, style } from '../terminal/print.ts';

type Options = Readonly<Record<string, unknown>>;

/** `reprise config`: prints every setting in force and where it comes from. */
export async function showConfig(options: Options): Promise<void> {
  const { config, origins, warnings, files } = await loadConfig({ flags: options });
  const rows = [...origins]
    .map(([path, origin]) => ({ path, value: maskedValue(path, valueAt(config, path)), origin }))
    .sort((a, b) => rank(a.path) - rank(b.path) || (a.path < b.path ? -1 : 1));
  if (options['json'] === true) {
    const { project, user, ignored } = files;
    const page = { data: rows, hasMore: false, lastId: rows.at(-1)?.path ?? null };
    printJson({ ...page, files: { project, user }, ignored, warnings }, 2);
    return;
  }
  for (const warning of warnings) say(escapeForTerminal(warning));
  const shown = rows.map(({ path, value, origin }) => ({
    path,
    text: escapeForTerminal(typeof value === 'string' ? value : JSON.stringify(value)),
    name: escapeForTerminal(origin.name === 'default' ? 'default' : `from ${origin.name}`),
  }));
  const width = Math.max(...shown.map(({ path }) => path.length));
  for (const { path, text, name } of shown)
    print(`${path.padEnd(width)}  ${text}  ${style('dim', `(${name})`)}`);
}

/** `reprise config trust`: trusts the current content of the project file; any later change must be trusted again. */
export async function trustConfig(): Promise<void> {
  const { files } = await loadConfig();
  if (files.trust === undefined)
    throw failure('NOT_FOUND', 'cli.noProjectFile', { name: PROJECT_FILE, file: files.project });
  if (files.protected.size === 0) {
    say(`${escapeForTerminal(files.project)} sets nothing that needs trust.`);
    return;
  }
  rememberTrust(files.folder, files.trust);
  for (const [path, value] of files.protected)
    print(escapeForTerminal(`${path}  ${JSON.stringify(maskedValue(path, value))}`));
  say(`${escapeForTerminal(files.project)} may set these now. When it changes, it must be trusted again.`);
}

function valueAt(config: object, path: string): unknown {
  let value: unknown = config;
  for (const name of path.split('.')) value = (value as Readonly<Record<string, unknown>>)[name];
  return value;
}

const GROUPS: readonly string[] = [...new Set(SETTINGS.map(({ path }) => path.split('.', 1)[0] ?? ''))];

/** Sorts settings in the order of the settings table; agents and providers by name. */
function rank(path: string): number {
  return GROUPS.indexOf(path.split('.', 1)[0] ?? '');
}
