import { existsSync } from 'node:fs';
import { readdir, readFile, stat, statfs } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { findEditedIndexes, nextStepsOf } from '../../config/edited-indexes.ts';
import { filesOf, type LocalKind, STORE_FILES, storesIn, unusedIn } from '../../config/home-stores.ts';
import { RepriseError } from '../../errors.ts';
import { byteCount, count, counted } from '../../messages/english-format.ts';
import type { SearchProgress } from '../../store/port/search.ts';
import type {
  DatabaseServer,
  DiskSpace,
  SearchIndexStats,
  TranscriptProblem,
} from '../../store/port/stats.ts';
import type { LeaseInfo } from '../../store/port/store.ts';
import { isObject } from '../../transcript/json.ts';
import { type Home, homeOf, openHomeAsItIs, saidBy } from '../backend/home.ts';
import type { Options } from '../options.ts';
import { escapeForTerminal, print, printJson, style } from '../terminal/print.ts';
import { shellWord } from '../terminal/shell-word.ts';

interface Check {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
  /** What to do about it. */
  readonly next?: string;
  /** Only for the check `search`: how many transcript lines the search index has. */
  readonly index?: SearchProgress;
}

const LOW_SPACE = 512 * 1024 * 1024;
const OPEN_TO_OTHERS = 0o077;
const MAX_PROBLEMS = 5;
/** A search scans lines that are not indexed, and can scan about this many within its time limit. */
const MAX_UNINDEXED_LINES = 10_000;

/** `reprise doctor`: checks the home and its store. Exits with 0 if all is well, else 1. */
export async function doctor(options: Options): Promise<number> {
  const home = await homeOf(options);
  const { path, origin, kind } = home;
  const rebuildSearch = options['rebuildSearch'] === true;
  const checks: Check[] = [{ name: 'node', ok: true, detail: process.version }];
  if (kind === 'postgres') checks.push(...(await checksOfStore(home, rebuildSearch)));
  if (!existsSync(path)) {
    checks.push({
      name: 'home',
      ok: true,
      detail: `${path} (${saidBy(origin)}) does not exist yet; it is created on first use`,
    });
  } else {
    checks.push(await homeCheck(path, origin), await quarantineCheck(path), identityCheck());
    checks.push(...unusedStoreChecks(home), ...editedIndexChecks(path));
    if (kind !== 'postgres' && isToOpen(path, kind))
      checks.push(...(await checksOfStore(home, rebuildSearch)));
    else checks.push(...missingIndexChecks(path, kind), spaceCheck(await freeOn(path)));
    // After the store was opened, because opening it may salvage the database.
    checks.push(...(await salvageChecks(path)));
  }
  if (options['json'] === true) printJson({ data: checks, hasMore: false, lastId: null }, 2);
  else for (const check of checks) print(line(check));
  return checks.every(({ ok }) => ok) ? 0 : 1;
}

function line({ name, ok, detail, next }: Check): string {
  const mark = ok ? style('green', 'ok  ') : style('yellow', 'warn');
  return `${mark} ${name}: ${escapeForTerminal(detail)}${next === undefined ? '' : `\n     ${next}`}`;
}

async function homeCheck(path: string, origin: string): Promise<Check> {
  const { mode } = await stat(path);
  const ok = (mode & OPEN_TO_OTHERS) === 0;
  const detail = `${path} (${saidBy(origin)})`;
  return ok
    ? { name: 'home', ok, detail }
    : { name: 'home', ok, detail: `${detail} is readable by other users`, next: `Run: chmod 700 ${path}` };
}

/** A folder with only transcripts is not opened: opening would create an index, and doctor changes nothing. */
function isToOpen(path: string, kind: LocalKind): boolean {
  return existsSync(join(path, STORE_FILES[kind])) || storesIn(path).some((found) => found !== kind);
}

function missingIndexChecks(path: string, kind: string): Check[] {
  if (kind !== 'jsonl' || !storesIn(path).includes('jsonl')) return [];
  const detail = `${STORE_FILES.jsonl} is missing; it is rebuilt from the transcripts by the next command that opens this home`;
  const next = 'Run: reprise verify. It rebuilds the index and lists every damaged transcript.';
  return [{ name: 'index', ok: false, detail, next }];
}

/** Two stores in one home: one of them is not used, which is a warning unless the store kind was configured. */
function unusedStoreChecks({ path, kind, isKindSaid }: Home): Check[] {
  const other = unusedIn(path, kind);
  if (kind === 'postgres' || other === undefined) return [];
  const detail = `this home has two stores: ${filesOf(path, kind)} is used, ${filesOf(path, other)} is not`;
  if (isKindSaid) return [{ name: 'stores', ok: true, detail }];
  const at = `--home ${shellWord(path)}`;
  const next = `To list the sessions of the other store: reprise ls ${at} --store ${other}
     To bring its sessions into this one: reprise export --all --profile clawdbot --out DIR ${at} --store ${other}
     and then: reprise import DIR ${at}
     To use it instead, set "store":{"kind":"${other}"} in the config file. docs/backup.md has more.`;
  return [{ name: 'stores', ok: false, detail, next }];
}

function editedIndexChecks(path: string): Check[] {
  return findEditedIndexes(path).map((file) => {
    const isMoved = basename(file) !== 'sessions.json';
    const detail = `${file} has changes that Reprise did not make`;
    const then = isMoved ? 'Then remove the file.' : 'The next change of a session moves the file aside.';
    return { name: 'sessions.json', ok: false, detail, next: `${nextStepsOf(file)} ${then}` };
  });
}

async function freeOn(path: string): Promise<DiskSpace> {
  const { bavail, bsize } = await statfs(path);
  return { freeBytes: bavail * bsize, minFreeBytes: 0 };
}

/** Warns long before the store refuses turns. */
function spaceCheck({ freeBytes, minFreeBytes }: DiskSpace): Check {
  const floor = minFreeBytes > 0 ? `; no turn starts below ${mebibytes(minFreeBytes)}` : '';
  const detail = `${mebibytes(freeBytes)} free${floor}`;
  if (freeBytes > LOW_SPACE) return { name: 'disk', ok: true, detail };
  return { name: 'disk', ok: false, detail, next: 'Free some space on this disk.' };
}

function mebibytes(bytes: number): string {
  return `${count(bytes / (1024 * 1024))} MiB`;
}

async function quarantineCheck(path: string): Promise<Check> {
  const folder = join(path, 'quarantine');
  const count = existsSync(folder) ? (await readdir(folder)).length : 0;
  if (count === 0) return { name: 'quarantine', ok: true, detail: 'empty' };
  return {
    name: 'quarantine',
    ok: false,
    detail: `${count} files`,
    next: `Check the files in ${folder}. Reprise does not use them.`,
  };
}

/** Reports of control.db files that could not be read: what was recovered into the new one, and what was lost. */
async function salvageChecks(path: string): Promise<Check[]> {
  const folder = join(path, 'quarantine');
  if (!existsSync(folder)) return [];
  const names = (await readdir(folder)).filter((name) => name.endsWith('.salvage.json'));
  return Promise.all(
    names.sort().map(async (name) => {
      const next = `The damaged file is in ${folder}. Remove ${name} when you have seen this.`;
      const report = jsonOf(await readFile(join(folder, name), 'utf8'));
      if (!isObject(report))
        return { name: 'control.db', ok: false, detail: `the report ${name} cannot be read`, next };
      const { at, kept, lost } = report;
      const rows = isObject(kept) ? Object.entries(kept).map(([table, n]) => `${String(n)} of ${table}`) : [];
      const losses = Array.isArray(lost) ? lost.map(String) : [];
      const detail = `damaged on ${String(at)}; kept ${rows.join(', ') || 'nothing'}`;
      return {
        name: 'control.db',
        ok: false,
        detail:
          losses.length === 0
            ? `${detail}; nothing is lost`
            : `${detail}; lost:\n     ${losses.join('\n     ')}`,
        next,
      };
    }),
  );
}

/** @returns undefined for a report that was only partly written. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Without /proc the death of a lease holder is noticed only when its lease expires. */
function identityCheck(): Check {
  const ok = existsSync('/proc/sys/kernel/random/boot_id');
  return {
    name: 'holders',
    ok,
    detail: ok ? 'a dead process is noticed at once' : 'no /proc: a dead process is noticed after 15 s',
  };
}

/** A store that cannot be opened is reported as one failed check among the others. */
async function checksOfStore(home: Home, rebuildSearch: boolean): Promise<Check[]> {
  try {
    return await storeChecks(home, rebuildSearch);
  } catch (error) {
    if (!(error instanceof RepriseError)) throw error;
    const { next } = error.details;
    const detail = `${error.message} (${error.code})`;
    return [{ name: 'store', ok: false, detail, ...(typeof next === 'string' && { next }) }];
  }
}

async function storeChecks(home: Home, rebuildSearch: boolean): Promise<Check[]> {
  await using store = await openHomeAsItIs(home);
  if (rebuildSearch) await store.reindex();
  const stats = await store.stats({ search: true });
  const { sessions, damaged, bytes, disk, server, rebuilding, behind, problems, search } = stats;
  const held = await store.leases();
  const leases = held.filter(({ lockFile }) => lockFile === undefined);
  const locks = held.filter(({ lockFile }) => lockFile !== undefined);
  const dead = leases.filter(({ alive }) => !alive).length;
  const messages = (await store.transfer.held()).length;
  return [
    ...(disk === undefined ? [] : [spaceCheck(disk)]),
    ...(server === undefined ? [] : [durabilityCheck(server), connectionsCheck(server)]),
    {
      name: 'sessions',
      ok: true,
      detail: `${counted(sessions, 'session')}, ${byteCount(bytes)} of transcripts; "reprise verify" reads every line of them`,
    },
    ...(damaged === 0
      ? []
      : [
          {
            name: 'damage',
            ok: false,
            detail: `${counted(damaged, 'session')} damaged: read-only, and readable as far as the transcript is intact`,
            next: '"reprise verify" lists them; "reprise repair <session>" copies what can be read into a new session.',
          },
        ]),
    ...(rebuilding === undefined
      ? []
      : [
          {
            name: 'index',
            ok: false,
            detail: `being rebuilt: ${rebuilding.done} of ${rebuilding.total} transcripts read`,
            next: 'Any process that uses this home continues the rebuild; "reprise verify" waits until it is done.',
          },
        ]),
    ...(server === undefined ? [transcriptsCheck(behind, problems)] : []),
    ...(search === undefined ? [] : [searchCheck(search)]),
    {
      name: 'leases',
      ok: true,
      detail: `${leases.length} held${dead > 0 ? `, ${dead} by dead processes (free for the next)` : ''}`,
    },
    ...(messages === 0 ? [] : [heldCheck(messages)]),
    ...locks.map(lockCheck),
  ];
}

function heldCheck(messages: number): Check {
  const detail = `${counted(messages, 'queued message')} of a restored backup: held until you release them`;
  const next = 'To run them: reprise backup release. To drop them: reprise backup release --cancel';
  return { name: 'held messages', ok: false, detail, next };
}

function searchCheck({ done, total, bytes, problem }: SearchIndexStats): Check {
  const name = 'search';
  const index = { done, total };
  const detail = `${count(done)} of ${count(total)} transcript lines are indexed, ${mebibytes(bytes)}`;
  if (problem !== undefined) {
    const next =
      'Until then searches read all transcripts. To rebuild the index: reprise doctor --rebuild-search';
    return { name, ok: false, detail: `${detail}; ${problem}`, next, index };
  }
  if (total - done <= MAX_UNINDEXED_LINES) return { name, ok: true, detail, index };
  const next =
    'An open chat or server indexes the rest in the background. To wait until all are indexed: reprise doctor --rebuild-search';
  return { name, ok: false, detail: `${detail}; searches can miss messages in the rest`, next, index };
}

/** Which failures an acknowledged write survives, depending on the PostgreSQL settings. */
function durabilityCheck({ version, commits, replicas, waitsFor, readOnly }: DatabaseServer): Check {
  const name = 'durability';
  const server = `PostgreSQL ${version}, synchronous_commit=${commits}`;
  if (readOnly)
    return {
      name,
      ok: false,
      detail: `${server}: the server refuses writes`,
      next: 'Point the store URL at the primary, or set default_transaction_read_only=off.',
    };
  if (commits === 'off')
    return {
      name,
      ok: false,
      detail: `${server}: the last acknowledged writes are lost when the server crashes`,
      next: 'Set synchronous_commit=on (and fsync=on) on the server.',
    };
  const alone = `${server}: acknowledged writes survive a crash of the server`;
  if (replicas === 0) return { name, ok: true, detail: `${alone}; there is no replica` };
  if (waitsFor > 0 && commits !== 'local')
    return { name, ok: true, detail: `${alone} and are on ${waitsFor} of ${replicas} replicas` };
  const risk = 'not a failover: commits wait for none of the replicas';
  return {
    name,
    ok: true,
    detail: `${alone}, but ${risk} (${replicas})`,
    next: 'To survive that too, set synchronous_standby_names on the server; each commit then waits for them.',
  };
}

function connectionsCheck({ connections, roundTripMs, notify }: DatabaseServer): Check {
  const { used, max, pool } = connections;
  const wakeUp = notify ? 'processes notify each other at once' : 'processes poll for changes';
  const detail = `${roundTripMs} ms round trip to the server, an append takes two; up to ${pool} connections per process, ${used} of ${max} in use; ${wakeUp}`;
  if (used + pool <= max) return { name: 'connections', ok: true, detail };
  const next = 'Lower pool_max in the store URL, raise max_connections, or put a pooler in between.';
  return { name: 'connections', ok: false, detail, next };
}

/** Lines are safe in the journal even while the transcript files lag. */
function transcriptsCheck(behind: number, problems: readonly TranscriptProblem[]): Check {
  const name = 'transcripts';
  if (problems.length === 0)
    return {
      name,
      ok: true,
      detail: behind === 0 ? 'up to date' : `${counted(behind, 'transcript')} being written`,
    };
  const why = problems
    .slice(0, MAX_PROBLEMS)
    .map(({ session, code, detail }) => `${session}: ${code}, ${detail}`);
  const more = problems.length > MAX_PROBLEMS ? `; and ${problems.length - MAX_PROBLEMS} more` : '';
  return {
    name,
    ok: false,
    detail: `${problems.length} cannot be written: ${why.join('; ')}${more}`,
    next: 'Committed lines are safe in control.db. They are written to the transcripts once the cause is fixed.',
  };
}

function lockCheck({ sessionId, lockFile, holder, alive }: LeaseInfo): Check {
  const who = holder['pid'] === undefined ? 'an unknown process' : `process ${String(holder['pid'])}`;
  return {
    name: 'lock',
    ok: alive,
    detail: `${lockFile} of ${who}: ${alive ? `Reprise does not write to session ${sessionId}` : 'stale, ignored'}`,
    ...(!alive && { next: `If no other tool needs it, remove ${lockFile}` }),
  };
}
