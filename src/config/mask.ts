import { redactText } from '../transcript/redact/redact.ts';
import { settingAt } from './settings.ts';

const MASK = '********';
const MAX_SHOWN = 120;

/** A setting for display: a secret is fully masked, and a URL loses its password. */
export function maskedValue(path: string, value: unknown): unknown {
  const { secret = false } = ownSetting(path) ?? {};
  const isLeaf = typeof value !== 'object' || value === null;
  if (isLeaf && secret) return MASK;
  if (typeof value === 'string') return redactText(withoutPassword(value));
  if (Array.isArray(value)) return value.map((each) => maskedValue(path, each));
  if (isLeaf) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, maskedValue(`${path}.${name}`, each)]),
  );
}

/** The same as text for a message. */
export function shownValue(path: string, value: unknown): string {
  const text = JSON.stringify(maskedValue(path, value)) ?? String(value);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}

/** Everything below the row of a secret is secret too, such as each header. */
function ownSetting(path: string): ReturnType<typeof settingAt> {
  const steps = path.split('.');
  for (let length = steps.length; length > 0; length--) {
    const row = settingAt(steps.slice(0, length).join('.'));
    if (row !== undefined) return row;
  }
  return undefined;
}

/** `user:password@` in malformed URLs: the text between the first colon and the last @ may be a password. */
const CREDENTIALS = /^((?:[a-z][a-z0-9+.-]*:\/\/)?[^\s:/@]*:(?!\/\/))\S+@/i;

/** Keeps the address of a database URL and masks the user part and the query, which may contain credentials. */
function withoutPassword(text: string): string {
  const bare = text.replace(CREDENTIALS, `$1${MASK}@`);
  if (!text.includes('://') || !URL.canParse(text)) return bare;
  const url = new URL(text);
  // An unescaped slash in the password ends the host for a URL parser; the rest would be shown as a path.
  if (url.password === '' && bare !== text) return url.search === '' ? bare : `${url.protocol}//${MASK}`;
  if (url.password === '' && url.search === '' && url.username === '') return text;
  if (url.password !== '') url.password = MASK;
  else if (url.protocol.startsWith('http') && url.username !== '') url.username = MASK;
  for (const name of [...url.searchParams.keys()]) url.searchParams.set(name, MASK);
  return url.href;
}
