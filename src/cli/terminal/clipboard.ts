import { spawnSync } from 'node:child_process';
import { terminalEnv } from './terminal-env.ts';

const TOOLS: readonly (readonly [command: string, ...args: string[]])[] =
  process.platform === 'darwin'
    ? [['pbcopy']]
    : process.platform === 'win32'
      ? [['clip.exe']]
      : [['wl-copy'], ['xclip', '-selection', 'clipboard'], ['xsel', '--clipboard', '--input']];
const TIMEOUT_MS = 2000;

/**
 * Copies a text to the clipboard: with the tool of the system, otherwise through the terminal (OSC 52), which also
 * works over SSH. @returns false if there is neither.
 */
export function copyToClipboard(text: string, env: NodeJS.ProcessEnv = terminalEnv()): boolean {
  const hasDesktop =
    process.platform !== 'linux' || env['WAYLAND_DISPLAY'] !== undefined || env['DISPLAY'] !== undefined;
  if (hasDesktop && env['SSH_CONNECTION'] === undefined)
    for (const [command, ...args] of TOOLS) {
      const { status } = spawnSync(command, args, {
        input: text,
        stdio: ['pipe', 'ignore', 'ignore'],
        timeout: TIMEOUT_MS,
      });
      if (status === 0) return true;
    }
  if (process.stderr.isTTY !== true) return false;
  process.stderr.write(`\u001b]52;c;${Buffer.from(text).toString('base64')}\u0007`);
  return true;
}
