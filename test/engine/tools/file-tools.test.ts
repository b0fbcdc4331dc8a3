import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createFileTools } from '../../../src/exports/engine.ts';
import type { JsonObject } from '../../../src/exports/transcript.ts';

let folder = '';
let workspace = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'reprise-files-'));
  workspace = join(folder, 'workspace');
  mkdirSync(join(workspace, 'sub'), { recursive: true });
  mkdirSync(join(folder, 'outside'));
  writeFileSync(join(workspace, 'a.txt'), 'alpha');
  writeFileSync(join(folder, 'outside', 'secret.txt'), 'secret');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const CONTEXT = {
  session: { id: 's', key: 'agent:main:main', agentId: 'main' },
  progress: () => undefined,
  toolCallId: 'c',
  signal: new AbortController().signal,
  aside: <T>(work: () => Promise<T>): Promise<T> => work(),
};

async function use(name: string, input: JsonObject): Promise<unknown> {
  const tool = createFileTools(workspace).find((it) => it.name === name);
  return tool?.run(input, CONTEXT);
}
const read = (path: unknown): Promise<unknown> => use('read_file', { path });
const write = (path: string, content = 'new'): Promise<unknown> => use('write_file', { path, content });
const edit = (path: string, old_string: string, new_string: string): Promise<unknown> =>
  use('edit_file', { path, old_string, new_string });
const list = (path?: string): Promise<unknown> => use('list_directory', path === undefined ? {} : { path });
const inside = (path: string): string => join(workspace, path);

describe('file tools', () => {
  test('read, write, edit and list inside the workspace, by relative and by absolute path', async () => {
    expect(await read('a.txt')).toBe('alpha');
    expect(await read(inside('sub/../a.txt'))).toBe('alpha');
    expect(await write('deep/er/b.txt', 'héllo')).toBe('wrote 6 bytes to deep/er/b.txt');
    expect(readFileSync(inside('deep/er/b.txt'), 'utf8')).toBe('héllo');
    await edit('deep/er/b.txt', 'llo', 'y');
    expect(await read('deep/er/b.txt')).toBe('héy');
    expect(await list()).toBe('a.txt\ndeep/\nsub/');
    expect(await list('sub')).toBe('(empty)');
  });

  test.each([
    ['a parent', '../outside/secret.txt'],
    ['a parent behind a folder', 'sub/../../outside/secret.txt'],
    ['a neighbour whose name begins like ours', '../workspace-2/x'],
    ['an absolute path', '/etc/hostname'],
    ['a link to a file', 'link-out'],
    ['a way through a linked folder', 'folder-out/secret.txt'],
    ['a new file in a linked folder', 'folder-out/new.txt'],
    ['a link to a link', 'link-to-link'],
    ['a link to nowhere', 'nowhere'],
    ['a way through a link to nowhere', 'nowhere/x'],
    ['a link to itself', 'loop'],
  ])('never leave it: %s', async (_how, path) => {
    mkdirSync(join(folder, 'workspace-2'));
    symlinkSync('../outside/secret.txt', inside('link-out'));
    symlinkSync(join(folder, 'outside'), inside('folder-out'));
    symlinkSync('link-out', inside('link-to-link'));
    symlinkSync('../outside/made-by-us', inside('nowhere'));
    symlinkSync('loop', inside('loop'));
    const before = readdirSync(folder, { recursive: true });
    for (const work of [
      () => read(path),
      () => write(path),
      () => edit(path, 'secret', 'x'),
      () => list(path),
    ])
      await expect(work()).rejects.toMatchObject({ code: 'FORBIDDEN' });
    expect(readFileSync(join(folder, 'outside/secret.txt'), 'utf8')).toBe('secret');
    expect(readdirSync(folder, { recursive: true })).toEqual(before);
  });

  test('follow links that stay inside; writing changes what the link points at, not the link', async () => {
    symlinkSync('a.txt', inside('link'));
    symlinkSync('sub', inside('folder'));
    expect(await read('link')).toBe('alpha');
    await write('link', 'beta');
    await write('folder/c.txt', 'c');
    expect(readFileSync(inside('a.txt'), 'utf8')).toBe('beta');
    expect(lstatSync(inside('link')).isSymbolicLink()).toBe(true);
    expect(readFileSync(inside('sub/c.txt'), 'utf8')).toBe('c');
  });

  test('a workspace that is a link itself works, and one that is missing is made, for its owner only', async () => {
    symlinkSync(workspace, join(folder, 'alias'));
    workspace = join(folder, 'alias');
    expect(await read('a.txt')).toBe('alpha');
    workspace = join(folder, 'fresh');
    expect(await list()).toBe('(empty)');
    expect(statSync(workspace).mode & 0o777).toBe(0o700);
  });

  test('touch plain files only: a FIFO, a folder and the workspace itself are refused without waiting', async () => {
    execFileSync('mkfifo', [inside('pipe')]);
    for (const path of ['pipe', 'sub', '.', '']) {
      await expect(read(path), path).rejects.toMatchObject({ code: 'INVALID_INPUT' });
      await expect(write(path), path).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    }
    await expect(write('a.txt/x')).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    await expect(list('a.txt')).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    expect(lstatSync(inside('pipe')).isFIFO()).toBe(true);
    expect(readdirSync(folder).sort()).toEqual(['outside', 'workspace']);
  });

  test.each([
    ['bytes that are no UTF-8', Buffer.from([0x61, 0xff, 0xfe])],
    ['NUL bytes', Buffer.from('a\0b')],
  ])('binary is refused, not garbled: %s', async (_what, bytes) => {
    writeFileSync(inside('bin'), bytes);
    await expect(read('bin')).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    await expect(edit('bin', 'a', 'b')).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    expect(readFileSync(inside('bin'))).toEqual(bytes);
  });

  test('a file of 1 MiB is read, one byte more is refused', async () => {
    writeFileSync(inside('big'), 'x'.repeat(1024 * 1024));
    expect(String(await read('big'))).toHaveLength(1024 * 1024);
    writeFileSync(inside('big'), 'x'.repeat(1024 * 1024 + 1));
    await expect(read('big')).rejects.toMatchObject({ code: 'LIMIT_EXCEEDED' });
  });

  test.each([
    ['does not occur', 'beta', 'alpha'],
    ['is empty', '', 'alpha'],
    ['occurs twice', 'a', 'alpha'],
    ['overlaps itself', 'aa', 'baaab'],
  ])('an edit whose text %s changes nothing', async (_how, old, text) => {
    writeFileSync(inside('e.txt'), text);
    await expect(edit('e.txt', old, 'x')).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    expect(readFileSync(inside('e.txt'), 'utf8')).toBe(text);
  });

  test('an edit takes its text literally and keeps the byte order mark and the mode', async () => {
    writeFileSync(inside('run.sh'), '\ufeffecho $1');
    chmodSync(inside('run.sh'), 0o755);
    await edit('run.sh', '$1', "$& $' $$");
    expect(readFileSync(inside('run.sh'), 'utf8')).toBe("\ufeffecho $& $' $$");
    await write('run.sh', 'true');
    expect(statSync(inside('run.sh')).mode & 0o777).toBe(0o755);
    await write('new.txt');
    expect(statSync(inside('new.txt')).mode & 0o777).toBe(0o600);
  });

  test('writes and edits at once: each file is one of them, no edit is lost, nothing is left beside', async () => {
    const texts = Array.from({ length: 20 }, (_, i) => `${i}`.repeat(5000));
    await Promise.all(texts.map((text) => write('w.txt', text)));
    expect(texts).toContain(readFileSync(inside('w.txt'), 'utf8'));
    writeFileSync(inside('e.txt'), texts.map((_, i) => `<${i}>`).join(''));
    const failing = expect(edit('e.txt', 'nowhere', 'x')).rejects.toThrow();
    await Promise.all([...texts.map((_, i) => edit('e.txt', `<${i}>`, `[${i}]`)), failing]);
    expect(readFileSync(inside('e.txt'), 'utf8')).toBe(texts.map((_, i) => `[${i}]`).join(''));
    expect(readdirSync(workspace).sort()).toEqual(['a.txt', 'e.txt', 'sub', 'w.txt']);
  });

  test('a missing file or an invalid path is reported in plain words, without the path of the workspace', async () => {
    await expect(read('none.txt')).rejects.toMatchObject({
      code: 'NOT_FOUND',
      message: '"none.txt" does not exist',
    });
    for (const path of [7, undefined, 'a\0b', 'x'.repeat(5000)])
      await expect(read(path)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    await expect(list('none')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect(existsSync(inside('none'))).toBe(false);
  });
});
