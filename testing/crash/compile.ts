import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, lstatSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { RepriseError } from '../../src/errors.ts';

/** Whether this host can do it; a test that cannot run shows the reason. */
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

/** Compiles once per source and user; answers with the path of the result. */
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
  // Under a name of its own until it is whole: several test processes may compile at once.
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

/** What lies there will be run, so nobody else may have put it there. */
function cacheFolder(): string {
  const { uid } = userInfo();
  const folder = join(tmpdir(), `reprise-crash-kit-${uid}`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const stat = lstatSync(folder);
  if (stat.isDirectory() && stat.uid === uid && (stat.mode & 0o022) === 0) return folder;
  throw new RepriseError('FORBIDDEN', `${folder} is not ours alone`, { details: { folder } });
}
