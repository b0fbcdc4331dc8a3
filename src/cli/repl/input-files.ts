import { readdirSync, readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, extname, join, resolve } from 'node:path';
import type { UserInput } from '../../engine/intake/inbound.ts';
import { failure } from '../../messages/failure.ts';
import { escapeForTerminal } from '../terminal/print.ts';

const IMAGE_TYPES: Readonly<Record<string, string>> = {
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.gif': 'image/gif',
  '.webp': 'image/webp',
};
/** As on the page. */
const MAX_TEXT_BYTES = 100_000;
const MAX_IMAGE_BYTES = 10_000_000;
const MAX_COMPLETIONS = 200;
/** `@path` or `@"a path"` at the start of a word; a path of an image counts without the mark, as dragged files have none. */
const MENTION = /(^|\s)(@?)(?:"([^"\n]+)"|'([^'\n]+)'|((?:\\.|[^\s\\])+))/g;

/**
 * A message with the files that it names: images are attached, and text files follow the message. A name without a
 * file stays as it is, because it may be the name of a person. Throws for a file that cannot be sent.
 */
export function withFiles(text: string, folder: string = process.cwd()): UserInput {
  const images: { data: string; mimeType: string }[] = [];
  const texts: string[] = [];
  const seen = new Set<string>();
  for (const [, , mark, double, single, word] of text.matchAll(MENTION)) {
    const name = double ?? single ?? word?.replace(/\\(.)/g, '$1').replace(/[,;:!?)]+$/, '') ?? '';
    const mimeType = IMAGE_TYPES[extname(name).toLowerCase()];
    const isPath = /^(?:~?\/|\.{1,2}\/)/.test(name);
    if (name === '' || (mark === '' && (mimeType === undefined || !isPath))) continue;
    const path = absolute(name, folder);
    const size = fileSize(path);
    if (size === undefined || seen.has(path)) continue;
    seen.add(path);
    if (mimeType === undefined) texts.push(quotedText(name, path, size));
    else if (size > MAX_IMAGE_BYTES) throw refusal(name, 'size', MAX_IMAGE_BYTES);
    else images.push({ data: readFileSync(path).toString('base64'), mimeType });
  }
  return { text: [text, ...texts].join('\n\n'), ...(images.length > 0 && { images }) };
}

/** Paths that the word after `@` can become; folders end with a slash. */
export function fileCompletions(start: string, folder: string = process.cwd()): string[] {
  const isFolder = start === '' || start.endsWith('/');
  const inside = isFolder ? start : dirname(start);
  const part = isFolder ? '' : basename(start);
  const shownFolder = isFolder ? start : start.slice(0, start.length - part.length);
  try {
    const found = readdirSync(absolute(inside === '' ? '.' : inside, folder), { withFileTypes: true })
      .filter(({ name }) => name.startsWith(part) && (part.startsWith('.') || !name.startsWith('.')))
      // A name that acts on the terminal is not offered.
      .filter(({ name }) => name === escapeForTerminal(name) && !/\s/.test(name));
    return found
      .map((entry) => `${shownFolder}${entry.name}${entry.isDirectory() ? '/' : ''}`)
      .sort()
      .slice(0, MAX_COMPLETIONS);
  } catch {
    return []; // no such folder, or one that may not be read
  }
}

function absolute(name: string, folder: string): string {
  return name.startsWith('~/') ? join(homedir(), name.slice(2)) : resolve(folder, name);
}

/** @returns undefined if there is no such file. */
function fileSize(path: string): number | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  return found?.isFile() === true ? found.size : undefined;
}

/** In a fence that nothing in the file can close. */
function quotedText(name: string, path: string, size: number): string {
  if (size > MAX_TEXT_BYTES) throw refusal(name, 'size', MAX_TEXT_BYTES);
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(path));
  } catch {
    throw refusal(name, 'type', MAX_TEXT_BYTES);
  }
  if (text.includes('\0')) throw refusal(name, 'type', MAX_TEXT_BYTES);
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map(({ length }) => length));
  const fence = '`'.repeat(longest + 1);
  return `${name}\n${fence}\n${text.replace(/\n$/, '')}\n${fence}`;
}

function refusal(file: string, reason: 'size' | 'type', maxBytes: number): Error {
  return failure('INVALID_INPUT', 'cli.fileRefused', { file, reason, maxBytes });
}
