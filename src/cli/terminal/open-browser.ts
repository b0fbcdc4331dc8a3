import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The browser has read the file long before. */
const READ_MS = 30_000;

/**
 * Opens a link that contains a token. The browser gets the path of a file that only this user can read, because other
 * users can see the arguments of a process. @returns false if no browser could be started.
 */
export async function openInBrowser(url: string): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), 'reprise-open-'));
  const file = join(folder, 'reprise.html');
  const escaped = url.replaceAll('&', '&amp;').replaceAll('"', '&quot;');
  writeFileSync(file, `<!doctype html><meta http-equiv="refresh" content="0;url=${escaped}">\n`, {
    mode: 0o600,
  });
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  const [command, ...args] = opener(file);
  const isStarted = await new Promise<boolean>((resolve) => {
    const child = spawn(command, args, { detached: true, stdio: 'ignore' });
    child.once('error', () => resolve(false)); // there is no such program
    child.once('spawn', () => resolve(true));
    child.unref();
  });
  if (isStarted) setTimeout(remove, READ_MS).unref();
  else remove();
  process.once('exit', remove);
  return isStarted;
}

function opener(file: string): readonly [string, ...string[]] {
  if (process.platform === 'darwin') return ['open', file];
  return process.platform === 'win32' ? ['cmd', '/c', 'start', '""', file] : ['xdg-open', file];
}
