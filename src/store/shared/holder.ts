import { readFileSync, readlinkSync } from 'node:fs';
import { isObject } from '../../transcript/json.ts';

/** Identifies the process that holds a lease: enough to detect that it died and that its pid was reused. */
export interface Holder {
  readonly bootId: string;
  readonly pidNamespace: string;
  readonly pid: number;
  readonly startTime: string;
  readonly engineId: string;
}

/** USER_HZ: the unit of times in /proc, the same on every Linux system. */
const TICKS_PER_SECOND = 100;

/**
 * Parses a stored holder. An unreadable holder is never considered dead; only a missed heartbeat frees its session.
 */
export function parseHolder(text: string): Holder {
  try {
    const holder: unknown = JSON.parse(text);
    if (isObject(holder)) return { ...UNKNOWN_HOLDER, ...holder };
  } catch {
    // The row was changed by another program. Treat the holder as unknown.
  }
  return UNKNOWN_HOLDER;
}

const UNKNOWN_HOLDER: Holder = { bootId: '', pidNamespace: '', pid: 0, startTime: '', engineId: '' };

export function currentHolder(engineId: string): Holder {
  return {
    bootId: readText('/proc/sys/kernel/random/boot_id'),
    pidNamespace: readLink('/proc/self/ns/pid'),
    pid: process.pid,
    startTime: startTimeOf(process.pid) ?? '',
    engineId,
  };
}

/**
 * True if the holder is certainly dead: another boot, or the same boot and pid namespace and its pid is gone or was
 * reused. If any of this cannot be read (no /proc, EPERM), the holder counts as alive and only its heartbeat decides.
 */
export function isCertainlyDead(holder: Holder, self: Holder): boolean {
  if (holder.bootId === '' || self.bootId === '') return false;
  if (holder.bootId !== self.bootId) return true;
  if (holder.pidNamespace === '' || holder.pidNamespace !== self.pidNamespace) return false;
  if (holder.pid === self.pid && holder.startTime === self.startTime) return false;
  const startTime = startTimeOf(holder.pid);
  return (
    startTime === null ||
    (startTime !== undefined && holder.startTime !== '' && startTime !== holder.startTime)
  );
}

/**
 * Start time of a process in ms since the epoch, precise to a second. @returns null if the process does not exist,
 * `undefined` if that is unknown.
 */
export function processStart(pid: number): number | null | undefined {
  const ticks = startTimeOf(pid);
  if (typeof ticks !== 'string') return ticks;
  const [, bootTime] = /^btime (\d+)$/m.exec(readText('/proc/stat')) ?? [];
  return bootTime === undefined ? undefined : (Number(bootTime) + Number(ticks) / TICKS_PER_SECOND) * 1000;
}

/** @returns null if the process does not exist, `undefined` if that is unknown. */
function startTimeOf(pid: number): string | null | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The command name may hold spaces and brackets; the fields after its last bracket are numbers.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' || fields[0] === 'X' ? null : fields[19];
  } catch {
    // No /proc, or the process is hidden: ask the kernel with signal 0.
    return isGone(pid) ? null : undefined;
  }
}

/** Whether no process on this machine has this pid. */
export function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'latin1').trim();
  } catch {
    // Not Linux. An empty text means "unknown".
    return '';
  }
}

function readLink(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    // Not Linux. An empty text means "unknown".
    return '';
  }
}
