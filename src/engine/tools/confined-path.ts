import { constants, existsSync } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, readlink, realpath } from 'node:fs/promises';
import { isAbsolute, join, relative, resolve, sep } from 'node:path';
import type { ErrorCode, RepriseError } from '../../errors.ts';
import { failure } from '../../messages/failure.ts';
import type { PathProblem } from '../../messages/params/params-tools.ts';
import { quotedValue } from '../../messages/quoted.ts';

const MAX_LINKS = 40;
/** Windows has neither flag. */
const { O_RDONLY, O_DIRECTORY = 0, O_NOFOLLOW = 0 } = constants;
/** Names below `/proc/self/fd/<fd>/` start at the open folder, wherever its path leads by now, as with `openat`. */
const HAS_PROC_FD = process.platform === 'linux' && existsSync('/proc/self/fd');

interface OpenFolder {
  readonly handle: FileHandle;
  /** Relative to the workspace; empty for the workspace itself. */
  readonly names: readonly string[];
}

/** Whether the last name, or missing folders on the way, may be created. */
interface Walk {
  readonly createFolders?: boolean;
}

/**
 * A path in a workspace, opened one name at a time without following links. Links that stay inside are resolved by
 * their text, so even a folder that another process replaces with a link at any moment leads nowhere outside (I-30).
 *
 * Without `/proc/self/fd`, names are joined to paths, and `check` compares the identity of every folder on the way
 * and of the file, after opening and before use. There a process that replaces a folder at the right moments can
 * still make a tool create an empty file or folder outside.
 */
export class ConfinedPath implements AsyncDisposable {
  readonly #root: string;
  readonly #folders: [OpenFolder, ...OpenFolder[]];
  /** Folders that a `..` in a link has left. */
  readonly #left: OpenFolder[] = [];
  /** The last name, which may not exist. Undefined: the path is the workspace or another folder reached by a link. */
  #name: string | undefined;

  private constructor(root: string, handle: FileHandle) {
    this.#root = root;
    this.#folders = [{ handle, names: [] }];
  }

  /** @param path relative to the workspace, or absolute inside it. The workspace is created if it does not exist. */
  static async open(workspace: string, path: string, walk: Walk = {}): Promise<ConfinedPath> {
    if (path.includes('\0')) throw badPath('INVALID_INPUT', path, 'hasNul');
    await mkdir(workspace, { recursive: true, mode: 0o700 });
    const root = await realpath(workspace);
    const confined = new ConfinedPath(root, await open(root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
    try {
      await confined.#walk(namesBelow([root, resolve(workspace)], resolve(root, path)), path, walk);
      return confined;
    } catch (error) {
      await confined[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Relative to the workspace, with links resolved. */
  get relativePath(): string {
    return [...this.#top.names, ...(this.#name === undefined ? [] : [this.#name])].join(sep);
  }

  /** Unique among the files of all workspaces. */
  get absolutePath(): string {
    return join(this.#root, this.relativePath);
  }

  /** A path for system calls on this name, or on `name` beside it. They must not follow links in its last part. */
  at(name: string = this.#name ?? '.'): string {
    return this.#at(this.#top, name);
  }

  /** Throws if a folder on the way, or the file at a path of `at`, is not the one that was opened. */
  async check(file?: FileHandle, path: string = this.at()): Promise<void> {
    if (HAS_PROC_FD) return;
    const expected = this.#folders.map(({ handle, names }) => [handle, join(this.#root, ...names)] as const);
    for (const [handle, place] of file === undefined ? expected : [...expected, [file, path] as const]) {
      const [opened, found] = await Promise.all([handle.stat(), lstat(place)]);
      if (opened.dev !== found.dev || opened.ino !== found.ino)
        throw badPath('FORBIDDEN', this.relativePath, 'moved');
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#folders, ...this.#left].map(({ handle }) => handle.close()));
  }

  get #top(): OpenFolder {
    return this.#folders.at(-1) as OpenFolder;
  }

  #at({ handle, names }: OpenFolder, name: string): string {
    return HAS_PROC_FD ? `/proc/self/fd/${handle.fd}/${name}` : join(this.#root, ...names, name);
  }

  async #walk(names: string[] | undefined, asked: string, { createFolders = false }: Walk): Promise<void> {
    let rest = names;
    let links = 0;
    for (;;) {
      if (rest === undefined) throw badPath('FORBIDDEN', asked, 'outside');
      const [name, ...others] = rest;
      if (name === undefined) return;
      rest = others;
      if (name === '..') {
        if (this.#folders.length === 1) rest = undefined;
        else this.#left.push(this.#folders.pop() as OpenFolder);
        continue;
      }
      const found = await lstat(this.at(name)).catch(missing);
      await this.check();
      if (found?.isSymbolicLink() === true) {
        if (++links > MAX_LINKS) throw badPath('FORBIDDEN', asked, 'tooManyLinks');
        rest = await this.#resolveLink(name, others);
      } else if (others.length === 0) {
        this.#name = name;
        return;
      } else {
        if (found === undefined && createFolders) await mkdir(this.at(name)).catch(exists);
        await this.#enter(name);
      }
    }
  }

  /** @returns the names left to walk; `undefined` if the link leads out of the workspace. */
  async #resolveLink(name: string, others: readonly string[]): Promise<string[] | undefined> {
    const target = await readlink(this.at(name));
    await this.check();
    if (!isAbsolute(target)) return [...target.split(sep).filter(isName), ...others];
    const names = namesBelow([this.#root], target);
    this.#left.push(...this.#folders.splice(1));
    return names && [...names, ...others];
  }

  async #enter(name: string): Promise<void> {
    const handle = await open(this.at(name), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    this.#folders.push({ handle, names: [...this.#top.names, name] });
    await this.check();
  }

  /** Opens the folder that the path names; `at` then starts from it. */
  async enter(): Promise<void> {
    if (this.#name === undefined) return;
    await this.#enter(this.#name);
    this.#name = undefined;
  }
}

/** @param path As the model wrote it, or relative to the workspace. */
export function badPath(code: ErrorCode, path: unknown, problem: PathProblem, cause?: unknown): RepriseError {
  return failure(code, 'workspace.badPath', { path: quotedValue(path), problem }, { cause });
}

/** @returns undefined if the path is in none of the folders. */
function namesBelow(folders: readonly string[], path: string): string[] | undefined {
  for (const folder of folders) {
    const names = relative(folder, path).split(sep).filter(isName);
    if (names[0] !== '..' && !isAbsolute(relative(folder, path))) return names;
  }
  return undefined;
}

function isName(name: string): boolean {
  return name !== '' && name !== '.';
}

function missing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}

function exists(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'EEXIST') throw error;
}
