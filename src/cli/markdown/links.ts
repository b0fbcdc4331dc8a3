import { color } from '../terminal/colors.ts';
import { terminalEnv } from '../terminal/terminal-env.ts';

const SAFE = /^(?:https?|mailto):[\x21-\x7e]+$/i;

/** Whether the terminal shows OSC 8 links. Terminals that do not know them would at best ignore them. */
export function hasLinks(
  env: NodeJS.ProcessEnv = terminalEnv(),
  isTerminal: boolean = process.stdout.isTTY,
): boolean {
  const forced = env['FORCE_HYPERLINK'];
  if (forced !== undefined) return forced !== '0';
  if (isTerminal !== true || env['TERM'] === 'dumb' || env['TMUX'] !== undefined) return false;
  return (
    ['iTerm.app', 'WezTerm', 'vscode', 'ghostty', 'Hyper', 'rio'].includes(env['TERM_PROGRAM'] ?? '') ||
    Number(env['VTE_VERSION'] ?? 0) >= 5000 ||
    env['KITTY_WINDOW_ID'] !== undefined ||
    env['WT_SESSION'] !== undefined ||
    /^(?:xterm-kitty|alacritty|foot|contour)/.test(env['TERM'] ?? '')
  );
}

/** A piece of a link's text. Only http, https and mailto are links; the address of others is shown. */
export function linkText(text: string, href: string, isSupported: boolean): string {
  const shown = color('link', text);
  return isSupported && SAFE.test(href) ? `\u001b]8;;${href}\u001b\\${shown}\u001b]8;;\u001b\\` : shown;
}

/** Whether the address must be printed after the text, because a person could not see where the link leads. */
export function needsAddress(text: string, href: string, isSupported: boolean): boolean {
  if (text === href || `mailto:${text}` === href) return false;
  if (!isSupported || !SAFE.test(href)) return true;
  // A text that is an address must be the right one.
  return /^(?:https?:\/\/|www\.)|^[\w-]+(?:\.[\w-]+)+(?:\/|$)/i.test(text);
}
