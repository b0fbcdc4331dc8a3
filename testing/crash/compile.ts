import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, lstatSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { RepriseError } from '../../src/errors.ts';

/** Whether this machine can run a kind of test; a skipped test shows the reason. */
export interface Support {
  readonly supported: boolean;
  readonly reason?: string;
}

export interface CProgram {
  readonly name: string;
  readonly source: string;
  readonly flags?: readonly string[];
}

export function compilerSupport(): Support {
  if (process.platform !== 'linux') return { supported: false, reason: 'needs Linux' };
  const { status } = spawnSync('cc', ['--version'], { stdio: 'ignore' });
  return status === 0 ? { supported: true } : { supported: false, reason: 'needs a C compiler named cc' };
}

/** Compiles a program once per source and user. @returns the path of the result. */
export function compileC({ name, source, flags = [] }: CProgram): string {
  const { supported, reason = '' } = compilerSupport();
  if (!supported) throw new RepriseError('INVALID_INPUT', `cannot compile ${name}: ${reason}`);
  const hash = createHash('sha256')
    .update(JSON.stringify([source, flags]))
    .digest('hex')
    .slice(0, 16);
  const folder = cacheFolder();
  const target = join(folder, `${name}-${hash}`);
  if (existsSync(target)) return target;
  // Compile under a temporary name, because several test processes may compile at once.
  const draft = `${target}.${process.pid}`;
  writeFileSync(`${draft}.c`, source);
  const { status, stderr } = spawnSync('cc', ['-O2', '-o', draft, `${draft}.c`, ...flags], {
    encoding: 'utf8',
  });
  rmSync(`${draft}.c`);
  if (status !== 0) {
    throw new RepriseError('INVALID_INPUT', `cc cannot compile ${name}`, { details: { stderr } });
  }
  renameSync(draft, target);
  return target;
}

/** A cache folder that no other user can write, because its files will be run. */
function cacheFolder(): string {
  const { uid } = userInfo();
  const folder = join(tmpdir(), `reprise-crash-kit-${uid}`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const stat = lstatSync(folder);
  if (stat.isDirectory() && stat.uid === uid && (stat.mode & 0o022) === 0) return folder;
  throw new RepriseError('FORBIDDEN', `${folder} is not ours alone`, { details: { folder } });
}
