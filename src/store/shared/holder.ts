import { readFileSync, readlinkSync } from 'node:fs';
import { isObject } from '../../transcript/json.ts';

/** Who holds a lease: enough to tell a dead process from a live one, and a reused pid from its first owner. */
export interface Holder {
  readonly bootId: string;
  readonly pidNamespace: string;
  readonly pid: number;
  readonly startTime: string;
  readonly engineId: string;
}

/** What Linux tells every program, whatever the kernel's own clock is. */
const TICKS_PER_SECOND = 100;

/** As a row has it. One that cannot be read is nobody we could call dead: only its silence frees the session. */
export function parseHolder(text: string): Holder {
  try {
    const holder: unknown = JSON.parse(text);
    if (isObject(holder)) return { ...UNKNOWN_HOLDER, ...holder };
  } catch {
    // Changed from outside; said below.
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
 * Dead for certain: another boot, or the same boot and pid namespace and the pid is gone or somebody else's.
 * Where any of that cannot be read (no /proc, EPERM) the holder counts as alive and only its heartbeat decides.
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

/** When a process started, in ms since the epoch and to the second; null when there is none, undefined when nobody says. */
export function processStart(pid: number): number | null | undefined {
  const ticks = startTimeOf(pid);
  if (typeof ticks !== 'string') return ticks;
  const [, bootTime] = /^btime (\d+)$/m.exec(readText('/proc/stat')) ?? [];
  return bootTime === undefined ? undefined : (Number(bootTime) + Number(ticks) / TICKS_PER_SECOND) * 1000;
}

/** Null when there is no such process, undefined when nobody says. */
function startTimeOf(pid: number): string | null | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The command name may hold spaces and brackets; the fields after its last bracket are numbers.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' || fields[0] === 'X' ? null : fields[19];
  } catch {
    // No /proc, or hidden: ask the kernel by signal 0.
    return isGone(pid) ? null : undefined;
  }
}

/** Whether no process of this machine has this number. */
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
    // Not Linux: an empty text means "not known".
    return '';
  }
}

function readLink(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    // Not Linux: an empty text means "not known".
    return '';
  }
}
