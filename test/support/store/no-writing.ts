import { chmodSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { succeeds } from './store-faults.ts';

/** The superuser writes whatever the mode says, but not what is immutable. */
const isRoot = process.getuid?.() === 0;

/** From now on the user who runs these tests cannot write it. */
export function lock(path: string): boolean {
  if (isRoot) return succeeds('chattr', '+i', path);
  chmodSync(path, statSync(path).isDirectory() ? 0o500 : 0o400);
  return true;
}

export function free(path: string): void {
  if (isRoot) succeeds('chattr', '-i', path);
  else chmodSync(path, statSync(path).isDirectory() ? 0o700 : 0o600);
}

/** Why it cannot be tested here, if it cannot. */
export const cannotLock: string | undefined = ((): string | undefined => {
  const folder = mkdtempSync(join(tmpdir(), 'reprise-read-only-'));
  const isLocked = lock(folder);
  free(folder);
  rmSync(folder, { recursive: true, force: true });
  return isLocked ? undefined : 'needs chattr +i';
})();
