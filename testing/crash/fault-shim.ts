import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { compileC, compilerSupport, type Support } from './compile.ts';

export type FaultCall =
  | 'write'
  | 'pwrite'
  | 'writev'
  | 'pwritev'
  | 'fsync'
  | 'fdatasync'
  | 'rename'
  | 'ftruncate'
  | 'link'
  | 'unlink'
  | 'open';

/**
 * `short` writes that many bytes and reports it, which Node handles by itself. `full` does the same and fails the
 * writes after it, like a full disk. `torn` writes and kills the process.
 */
export type FaultAction = 'kill' | 'kill-after' | 'eio' | 'enospc' | `${'short' | 'full' | 'torn'}:${number}`;

export interface FaultPlan {
  /** Part of the path as it is passed to open; with a `$` at the end, the path must end there. */
  readonly path: string;
  readonly calls: readonly [FaultCall, ...FaultCall[]];
  /** The n-th matching call of the process, from 1. */
  readonly at: number;
  readonly action: FaultAction;
  /** How many calls from there on: 1 by default, -1 for all. */
  readonly count?: number;
  /** A file that gets a line for every fault. Without it a test cannot see whether a fault happened. */
  readonly log?: string;
}

export interface FiredFault {
  readonly pid: number;
  readonly call: FaultCall;
  /** The number of the matching call. */
  readonly number: number;
  readonly action: string;
  readonly path: string;
}

export const ALL_WRITES: readonly [FaultCall, ...FaultCall[]] = ['write', 'pwrite', 'writev', 'pwritev'];

export function faultShimSupport(): Support {
  const support = compilerSupport();
  if (!support.supported || existsSync(sourceFile())) return support;
  return { supported: false, reason: 'fault-shim.c is not installed' };
}

/**
 * The environment for a process with this fault. Node's pool gets a single thread, so that the n-th call is the same
 * call in every run.
 */
export function faultEnv({ path, calls, at, action, count = 1, log }: FaultPlan): Record<string, string> {
  return {
    LD_PRELOAD: buildFaultShim(),
    UV_THREADPOOL_SIZE: '1',
    REPRISE_FAULT_PATH: path,
    REPRISE_FAULT_CALL: calls.join(','),
    REPRISE_FAULT_AT: String(at),
    REPRISE_FAULT_DO: action,
    REPRISE_FAULT_COUNT: String(count),
    ...(log === undefined ? {} : { REPRISE_FAULT_LOG: log }),
  };
}

/** The faults that happened, in order; empty if the log was never created. */
export function readFaultLog(file: string): readonly FiredFault[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.filter(Boolean).map((line) => {
    const [pid = '', call = '', number = '', action = '', ...path] = line.split(' ');
    return {
      pid: Number(pid),
      call: call as FaultCall,
      number: Number(number),
      action,
      path: path.join(' '),
    };
  });
}

/** The path of the library, which is compiled on the first call. */
function buildFaultShim(): string {
  return compileC({
    name: 'fault-shim',
    source: readFileSync(sourceFile(), 'utf8'),
    flags: ['-shared', '-fPIC', '-ldl', '-lpthread'],
  });
}

function sourceFile(): string {
  return fileURLToPath(new URL('./fault-shim.c', import.meta.url));
}
