import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { lstat, open, readdir, rename, rm } from 'node:fs/promises';
import { type ErrorCode, RepriseError } from '../../errors.ts';
import { failure } from '../../messages/failure.ts';
import type { PathProblem } from '../../messages/params/params-tools.ts';
import { quotedValue } from '../../messages/quoted.ts';
import type { JsonObject } from '../../transcript/json.ts';
import { wrongValue } from '../settings-patch.ts';
import { badPath, ConfinedPath } from './confined-path.ts';
import type { Tool } from './tool.ts';

const MAX_READ_BYTES = 1024 * 1024;
const MAX_LISTED = 1000;

/** The built-in file tools. No path and no link leads them out of the workspace (I-30). */
export function createFileTools(workspace: string): Tool[] {
  const tools = [readFile(workspace), writeFile(workspace), editFile(workspace), listDirectory(workspace)];
  return tools.map(withoutSystemErrors);
}

const PATH = { type: 'string', description: 'Relative to the workspace.' } as const;

function schema(properties: JsonObject): JsonObject {
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false };
}

function readFile(workspace: string): Tool {
  return {
    name: 'read_file',
    description: 'Reads a text file of the workspace.',
    inputSchema: schema({ path: PATH }),
    safe: true,
    run: async ({ path }) => {
      await using target = await ConfinedPath.open(workspace, requireText('path', path));
      return await readText(target);
    },
  };
}

function writeFile(workspace: string): Tool {
  return {
    name: 'write_file',
    description: 'Writes a text file of the workspace, with its folders; replaces what was there.',
    inputSchema: schema({ path: PATH, content: { type: 'string' } }),
    run: async ({ path, content }) => {
      const text = requireText('content', content);
      const name = requireText('path', path);
      await using target = await ConfinedPath.open(workspace, name, { createFolders: true });
      await inTurn(target.absolutePath, () => replaceText(target, text));
      return `wrote ${Buffer.byteLength(text)} bytes to ${target.relativePath}`;
    },
  };
}

function editFile(workspace: string): Tool {
  return {
    name: 'edit_file',
    description: 'Replaces one exact piece of text, which must occur once, in a file of the workspace.',
    inputSchema: schema({ path: PATH, old_string: { type: 'string' }, new_string: { type: 'string' } }),
    run: async ({ path, old_string, new_string }) => {
      const old = requireText('old_string', old_string);
      const replacement = requireText('new_string', new_string);
      await using target = await ConfinedPath.open(workspace, requireText('path', path));
      await inTurn(target.absolutePath, async () => {
        const before = await readText(target);
        const start = onlyOccurrence(old, before, quotedValue(path));
        await replaceText(target, before.slice(0, start) + replacement + before.slice(start + old.length));
      });
      return `edited ${String(path)}`;
    },
  };
}

function listDirectory(workspace: string): Tool {
  return {
    name: 'list_directory',
    description: 'Lists a folder of the workspace; folders end in a slash.',
    inputSchema: {
      type: 'object',
      properties: {
        path: { ...PATH, description: 'Relative to the workspace; "." for the workspace itself.' },
      },
      additionalProperties: false,
    },
    safe: true,
    run: async ({ path }) => {
      await using folder = await ConfinedPath.open(workspace, requireText('path', path ?? '.'));
      await folder.enter();
      const found = await readdir(folder.at(), { withFileTypes: true });
      await folder.check();
      const names = found.map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name)).sort();
      if (names.length === 0) return '(empty)';
      const more = names.length > MAX_LISTED ? [`… and ${names.length - MAX_LISTED} more`] : [];
      return [...names.slice(0, MAX_LISTED), ...more].join('\n');
    },
  };
}

/** The offset of a text that must occur exactly once; overlapping occurrences count separately. */
function onlyOccurrence(old: string, text: string, path: string): number {
  const at = old === '' ? -1 : text.indexOf(old);
  if (at === -1) throw failure('INVALID_INPUT', 'workspace.noText', { path });
  if (text.includes(old, at + 1)) throw failure('INVALID_INPUT', 'workspace.repeatedText', { path });
  return at;
}

const busy = new Map<string, Promise<void>>();

/**
 * Serializes edits: calls of one round run in parallel, and two edits of one file must not start from the same text.
 */
async function inTurn(path: string, work: () => Promise<void>): Promise<void> {
  const before = busy.get(path);
  const mine = (async () => {
    await before?.catch(() => undefined); // reported to the call that it belongs to
    await work();
  })();
  busy.set(path, mine);
  try {
    await mine;
  } finally {
    if (busy.get(path) === mine) busy.delete(path);
  }
}

const { O_RDONLY, O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;

async function readText(target: ConfinedPath): Promise<string> {
  const file = await open(target.at(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    await target.check(file);
    const { size } = await file.stat().then((found) => {
      if (!found.isFile()) throw badPath('INVALID_INPUT', target.relativePath, 'notFile');
      return found;
    });
    if (size > MAX_READ_BYTES)
      throw failure('LIMIT_EXCEEDED', 'workspace.tooLarge', {
        ...{ path: quotedValue(target.relativePath), bytes: size, max: MAX_READ_BYTES },
      });
    const bytes = await file.readFile();
    if (bytes.includes(0)) throw new TypeError('binary');
    // A byte order mark is part of the file: an edit must not lose it.
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    if (error instanceof TypeError) throw badPath('INVALID_INPUT', target.relativePath, 'notText');
    throw error;
  } finally {
    await file.close();
  }
}

/**
 * Writes a temporary file and renames it, so that after a crash the old or the new file exists; keeps the file's
 * mode.
 */
async function replaceText(target: ConfinedPath, text: string): Promise<void> {
  const found = await lstat(target.at()).catch(() => undefined); // most often: not there yet
  if (found?.isFile() === false) throw badPath('INVALID_INPUT', target.relativePath, 'notFile');
  const temporary = target.at(`.${randomUUID()}.tmp`);
  const file = await open(temporary, 'wx', 0o600);
  try {
    await target.check(file, temporary);
    await file.writeFile(text);
    if (found !== undefined) await file.chmod(found.mode & 0o777);
    await file.sync();
    await target.check(file, temporary);
    await rename(temporary, target.at());
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  } finally {
    await file.close();
  }
}

/** Appends to a file, which is created if it does not exist. */
export async function appendText(workspace: string, path: string, text: string): Promise<void> {
  await using target = await ConfinedPath.open(workspace, path, { createFolders: true });
  const file = await open(target.at(), O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600);
  try {
    await target.check(file);
    await file.writeFile(text);
  } finally {
    await file.close();
  }
}

const PROBLEMS: Readonly<Record<string, [code: ErrorCode, problem: PathProblem]>> = {
  ENOENT: ['NOT_FOUND', 'missing'],
  ENOTDIR: ['INVALID_INPUT', 'notFolder'],
  EISDIR: ['INVALID_INPUT', 'isFolder'],
  ELOOP: ['FORBIDDEN', 'brokenLink'],
  ENXIO: ['INVALID_INPUT', 'notFile'],
  EACCES: ['FORBIDDEN', 'noAccess'],
  EPERM: ['FORBIDDEN', 'noAccess'],
  ENAMETOOLONG: ['INVALID_INPUT', 'nameTooLong'],
};

/** Translates errors of the operating system into our words, without real paths. */
function withoutSystemErrors(tool: Tool): Tool {
  return {
    ...tool,
    run: async (input, context) => {
      try {
        return await tool.run(input, context);
      } catch (error) {
        const found = PROBLEMS[String((error as NodeJS.ErrnoException).code)];
        if (error instanceof RepriseError || found === undefined) throw error;
        const [code, problem] = found;
        throw badPath(code, input['path'], problem, error);
      }
    },
  };
}

function requireText(name: string, value: unknown): string {
  if (typeof value === 'string') return value;
  throw wrongValue(name, value, [{ is: 'text' }]);
}
