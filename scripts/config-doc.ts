/** Writes the table of docs/config.md from the table of settings and the schema, so that it cannot say anything else. */
import { readFileSync, writeFileSync } from 'node:fs';
import { allowedAt } from '../src/config/allowed.ts';
import { envName, SETTINGS, type Setting } from '../src/config/settings.ts';

const BEGIN = '<!-- settings: made by `npm run docs` -->';
const END = '<!-- /settings -->';

/** The page with its table made again. */
export function configPage(page: string): string {
  const start = page.indexOf(BEGIN);
  const end = page.indexOf(END);
  const table = [
    '| setting | is | without it | variable, flag | |',
    '|---|---|---|---|---|',
    ...SETTINGS.map(row),
  ].join('\n');
  return `${page.slice(0, start)}${BEGIN}\n${table}\n${page.slice(end)}`;
}

function row(setting: Setting): string {
  const { path, about, fallback, otherwise, flag, free, secret } = setting;
  const group = path.startsWith('models.') ? 'provider' : 'id';
  const allowed = cell(allowedAt(path.replace('models.*', 'models.openai').split('.')));
  const without = otherwise ?? (fallback === undefined ? '–' : `\`${JSON.stringify(fallback)}\``);
  const names = [variable(path), flag === undefined ? undefined : `\`--${dashed(flag)}\``];
  const marks = [free === true ? 'free' : '', secret === true ? 'secret' : ''].filter((mark) => mark !== '');
  const where = names.filter((name) => name !== undefined).join(', ') || '–';
  return `| \`${path.replace('*', `<${group}>`)}\` | ${about} ${capital(allowed)}. | ${without} | ${where} | ${marks.join(', ')} |`;
}

function variable(path: string): string | undefined {
  const name = envName(path);
  return name === undefined ? undefined : `\`${name.replace('MODELS_*', 'MODELS_<PROVIDER>')}\``;
}

function dashed(flag: string): string {
  return flag.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}

if (import.meta.main) {
  const file = new URL('../docs/config.md', import.meta.url);
  writeFileSync(file, configPage(readFileSync(file, 'utf8')));
}
