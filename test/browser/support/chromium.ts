import { execFileSync } from 'node:child_process';

/** The headless shell first: the same engine without a window around it needs a third of the CPU time. */
const NAMES = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'];

/** `REPRISE_CHROMIUM` names another browser than the one on the PATH. */
export function findChromium(): string | undefined {
  const chosen = process.env['REPRISE_CHROMIUM'];
  if (chosen !== undefined) return chosen;
  for (const name of NAMES) {
    try {
      return execFileSync('which', [name], { encoding: 'utf8' }).trim();
    } catch {
      // The next name.
    }
  }
  return undefined;
}
