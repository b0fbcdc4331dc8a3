import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';

/** "In seconds", on a machine that has much else to do. */
const SECONDS_MS = 120_000;

/** How a process that was asked to end has ended: its exit code, or the signal. One that keeps running fails its test. */
export async function exitOf(child: ChildProcess): Promise<number | string | null> {
  if (child.exitCode === null && child.signalCode === null)
    await once(child, 'exit', { signal: AbortSignal.timeout(SECONDS_MS) }).catch((cause: unknown) => {
      throw new Error(`process ${child.pid} was still there after ${SECONDS_MS} ms`, { cause });
    });
  return child.exitCode ?? child.signalCode;
}
