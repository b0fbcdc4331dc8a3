import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { VerifyFinding } from '../port/verify-report.ts';
import { finding } from '../rules/examine.ts';
import { isBusy } from './side-files.ts';

/* SQLite stops reading its log at the first bad frame and does not report the commits after it. */

const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
/** Checksums over little-endian words; all supported processors write those. */
const MAGIC = 0x377f0682;

export interface LogDamage {
  /** Offset of the bad frame. */
  readonly offset: number;
  /** Number of transactions before it, which SQLite recovers. */
  readonly kept: number;
  /** Number of transactions from there on, which SQLite drops. */
  readonly lost: number;
}

/**
 * Scans a write-ahead log by SQLite's file format. Each frame is checked from the checksum of the one before, as it is
 * stored there or as it should be, so frames after a bad one can still be checked. A bad frame is damage where a later
 * transaction was written: SQLite syncs a commit before the next transaction writes its first frame. In the last
 * transaction it may be a commit that never completed and that SQLite never reported as complete.
 */
export function findLogDamage(log: Buffer): LogDamage | undefined {
  if (log.length < HEADER_BYTES || log.readUInt32BE(0) !== MAGIC) return undefined;
  const pageBytes = log.readUInt32BE(8);
  const frameBytes = FRAME_HEADER_BYTES + pageBytes;
  const frames = Math.floor((log.length - HEADER_BYTES) / frameBytes);
  if (pageBytes < 512 || pageBytes > 65_536 || frames === 0) return undefined;
  const words = new Uint32Array(log.buffer.slice(log.byteOffset, log.byteOffset + (log.length & ~3)));
  const salt = log.subarray(16, 24);
  let bad: number | undefined;
  let kept = 0;
  let lost = 0;
  let lostAndSynced = 0;
  /** The previous frame is a commit with a damaged salt, or of an earlier round of the log. */
  let isUncounted = false;
  /** The correct checksum of the previous frame, if it differs from the stored one. */
  let right: Checksum | undefined;
  for (let i = 0; i < frames; i++) {
    const at = HEADER_BYTES + i * frameBytes;
    const hasSalt = log.subarray(at + 8, at + 16).equals(salt);
    const stored = checksumAt(log, at + 16);
    const fromStored = checksumOf(
      words,
      at,
      pageBytes,
      checksumAt(log, at - (i === 0 ? 8 : frameBytes - 16)),
    );
    const fromRight = right === undefined ? fromStored : checksumOf(words, at, pageBytes, right);
    const isGood = hasSalt && (isSame(fromStored, stored) || isSame(fromRight, stored));
    // The correct checksum is needed only after a damaged one.
    right = isGood ? undefined : fromStored;
    const isCommit = log.readUInt32BE(at + 4) !== 0;
    if (!isGood) bad ??= at;
    else if (bad !== undefined) {
      // A good frame proves that the previous one belongs to this round.
      if (isUncounted) lost++;
      lostAndSynced = lost;
    }
    if (isCommit && bad === undefined) kept++;
    else if (isCommit && hasSalt) lost++;
    isUncounted = isCommit && !hasSalt;
  }
  return bad === undefined || lostAndSynced === 0 ? undefined : { offset: bad, kept, lost };
}

type Checksum = readonly [number, number];

const isSame = (a: Checksum, b: Checksum): boolean => a[0] === b[0] && a[1] === b[1];

function checksumAt(log: Buffer, at: number): Checksum {
  return [log.readUInt32BE(at), log.readUInt32BE(at + 4)];
}

/** Checksum of the first two words of the frame's header and its page. */
function checksumOf(words: Uint32Array, at: number, pageBytes: number, seed: Checksum): Checksum {
  let [first, second] = seed;
  const add = (from: number, bytes: number): void => {
    for (let i = from >> 2, end = (from + bytes) >> 2; i < end; i += 2) {
      first = (first + (words[i] ?? 0) + second) | 0;
      second = (second + (words[i + 1] ?? 0) + first) | 0;
    }
  };
  add(at, 8);
  add(at + FRAME_HEADER_BYTES, pageBytes);
  return [first >>> 0, second >>> 0];
}

/**
 * Runs before a database is opened: scans the log of a process that did not close it. The part that SQLite is going
 * to drop is copied to quarantine/, with a report that `doctor` and `verify` show. Does nothing after a clean close,
 * which leaves no log, or while another process has the database open.
 */
export function reportLogDamage(path: string): void {
  const log = `${path}-wal`;
  if ((statSync(log, { throwIfNoEntry: false })?.size ?? 0) <= HEADER_BYTES) return;
  const db = new DatabaseSync(path, { timeout: 0 });
  try {
    // Locks the database file. The log stays unchanged until this connection closes.
    db.exec('PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT');
    const damage = findLogDamage(readFileSync(log));
    if (damage !== undefined) keepLog(path, damage);
  } catch (error) {
    // Another process uses the database and its log; or it cannot be opened, which the caller will find out.
    if (!isBusy(error) && (error as { errcode?: number }).errcode === undefined) throw error;
  } finally {
    db.close();
  }
}

const REPORT = '.salvage.json';

function keepLog(path: string, { offset, kept, lost }: LogDamage): void {
  const folder = join(dirname(path), 'quarantine');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const at = new Date().toISOString();
  const name = `${basename(path)}-wal.${at.replace(/[:.]/g, '-')}`;
  const copy = join(folder, name);
  closeSync(openSync(copy, 'wx', 0o600));
  copyFileSync(`${path}-wal`, copy);
  const what = `${lost} committed transactions behind a damaged frame of ${basename(path)}-wal, at byte ${offset}`;
  const report = {
    at,
    kept: { 'transactions in the log': kept },
    lost: [what],
    log: { offset, detail: what },
  };
  writeFileSync(`${copy}${REPORT}`, `${JSON.stringify(report, null, 2)}\n`, { mode: 0o600, flush: true });
}

/** Findings that `verify` reports for a database, until the user removes the reports. */
export function logFindings(path: string): VerifyFinding[] {
  const folder = join(dirname(path), 'quarantine');
  if (path === ':memory:' || !existsSync(folder)) return [];
  const begin = `${basename(path)}-wal.`;
  const names = readdirSync(folder).filter((name) => name.startsWith(begin) && name.endsWith(REPORT));
  return names.sort().map((name) => {
    const { offset = 0, detail = 'its report cannot be read' } = logOf(join(folder, name));
    return finding(basename(path), 'damaged-log', `${detail}; see quarantine/${name}`, offset);
  });
}

function logOf(file: string): { readonly offset?: number; readonly detail?: string } {
  try {
    const { log = {} } = JSON.parse(readFileSync(file, 'utf8')) as {
      log?: { offset: number; detail: string };
    };
    return log;
  } catch {
    return {}; // The report is incomplete, for example after a full disk.
  }
}
