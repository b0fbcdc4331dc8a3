import { existsSync } from 'node:fs';
import { readdir, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { LeaseInfo, TranscriptProblem } from '../../store/store.ts';
import { type HomeOptions, homeOf, openHome } from '../home.ts';
import { escapeForTerminal, print, style } from '../print.ts';

interface Check {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
  /** What to do about it. */
  readonly next?: string;
}

const LOW_SPACE = 512 * 1024 * 1024;
const OPEN_TO_OTHERS = 0o077;
const MAX_PROBLEMS = 5;

/** `reprise doctor`: what an operator would ask first. Exit 0 when nothing wants a look, else 1. */
export async function doctor(options: HomeOptions & { readonly json?: unknown }): Promise<number> {
  const { path, origin } = homeOf(options);
  const checks: Check[] = [{ name: 'node', ok: true, detail: process.version }];
  if (!existsSync(path)) {
    checks.push({
      name: 'home',
      ok: true,
      detail: `${path} (from ${origin}) does not exist yet; it is made when it is needed`,
    });
  } else {
    checks.push(
      await homeCheck(path, origin),
      await spaceCheck(path),
      await quarantineCheck(path),
      identityCheck(),
    );
    if (existsSync(join(path, 'control.db'))) checks.push(...(await storeChecks(options)));
  }
  if (options.json === true) print(JSON.stringify({ data: checks, hasMore: false, lastId: null }, null, 2));
  else for (const check of checks) print(line(check));
  return checks.every(({ ok }) => ok) ? 0 : 1;
}

function line({ name, ok, detail, next }: Check): string {
  const mark = ok ? style('green', 'ok  ') : style('yellow', 'look');
  return `${mark} ${name}: ${escapeForTerminal(detail)}${next === undefined ? '' : `\n     ${next}`}`;
}

async function homeCheck(path: string, origin: string): Promise<Check> {
  const { mode } = await stat(path);
  const ok = (mode & OPEN_TO_OTHERS) === 0;
  const detail = `${path} (from ${origin})`;
  return ok
    ? { name: 'home', ok, detail }
    : { name: 'home', ok, detail: `${detail} can be read by others`, next: `Run: chmod 700 ${path}` };
}

async function spaceCheck(path: string): Promise<Check> {
  const { bavail, bsize } = await statfs(path);
  const free = bavail * bsize;
  const detail = `${Math.round(free / (1024 * 1024)).toLocaleString('en')} MiB free`;
  return { name: 'disk', ok: free > LOW_SPACE, detail };
}

async function quarantineCheck(path: string): Promise<Check> {
  const folder = join(path, 'quarantine');
  const count = existsSync(folder) ? (await readdir(folder)).length : 0;
  if (count === 0) return { name: 'quarantine', ok: true, detail: 'empty' };
  return {
    name: 'quarantine',
    ok: false,
    detail: `${count} files`,
    next: `Look into ${folder}; nothing reads it.`,
  };
}

/** Without /proc a dead holder of a lease is noticed by its silence only. */
function identityCheck(): Check {
  const ok = existsSync('/proc/sys/kernel/random/boot_id');
  return {
    name: 'holders',
    ok,
    detail: ok ? 'a dead process is noticed at once' : 'no /proc: a dead process is noticed after 15 s',
  };
}

async function storeChecks(options: HomeOptions): Promise<Check[]> {
  await using store = await openHome(options);
  const [{ sessions, bytes, behind, problems }, held] = [await store.stats(), await store.leases()];
  const leases = held.filter(({ lockFile }) => lockFile === undefined);
  const locks = held.filter(({ lockFile }) => lockFile !== undefined);
  const dead = leases.filter(({ alive }) => !alive).length;
  return [
    {
      name: 'sessions',
      ok: true,
      detail: `${sessions} sessions, ${bytes.toLocaleString('en')} bytes of transcripts`,
    },
    transcriptsCheck(behind, problems),
    {
      name: 'leases',
      ok: true,
      detail: `${leases.length} held${dead > 0 ? `, ${dead} by dead processes (free for the next)` : ''}`,
    },
    ...locks.map(lockCheck),
  ];
}

/** Lines are safe in the journal; what people and other tools read is behind. */
function transcriptsCheck(behind: number, problems: readonly TranscriptProblem[]): Check {
  const name = 'transcripts';
  if (problems.length === 0)
    return { name, ok: true, detail: behind === 0 ? 'up to date' : `${behind} are being written` };
  const why = problems
    .slice(0, MAX_PROBLEMS)
    .map(({ session, code, detail }) => `${session}: ${code}, ${detail}`);
  const more = problems.length > MAX_PROBLEMS ? `; and ${problems.length - MAX_PROBLEMS} more` : '';
  return {
    name,
    ok: false,
    detail: `${problems.length} cannot be written: ${why.join('; ')}${more}`,
    next: 'Committed lines are safe in control.db and follow when the cause is gone.',
  };
}

function lockCheck({ sessionId, lockFile, holder, alive }: LeaseInfo): Check {
  const who = holder['pid'] === undefined ? 'nobody in particular' : `process ${String(holder['pid'])}`;
  return {
    name: 'lock',
    ok: alive,
    detail: `${lockFile} of ${who}: ${alive ? `session ${sessionId} is not written to` : 'stale, ignored'}`,
    ...(!alive && { next: `If no other tool needs it, remove ${lockFile}` }),
  };
}
