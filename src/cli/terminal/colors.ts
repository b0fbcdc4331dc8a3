import type { styleText } from 'node:util';
import { style } from './print.ts';
import { terminalEnv } from './terminal-env.ts';

type Format = Parameters<typeof styleText>[0];

/** What a color means. The same meaning has the same color everywhere. */
export type Meaning =
  | 'user'
  | 'assistant'
  | 'tool'
  | 'error'
  | 'notice'
  | 'warning'
  | 'heading'
  | 'code'
  | 'link'
  | 'keyword'
  | 'string'
  | 'number'
  | 'comment'
  | 'added'
  | 'removed';

const COMMON = {
  notice: 'dim',
  error: 'red',
  added: 'green',
  removed: 'red',
  string: 'green',
  keyword: 'magenta',
  tool: 'magenta',
} as const satisfies Partial<Record<Meaning, Format>>;

/** Yellow and bright colors are unreadable on white, blue is unreadable on black. */
const DARK: Readonly<Record<Meaning, Format>> = {
  ...COMMON,
  comment: 'gray',
  user: ['bold', 'green'],
  assistant: ['bold', 'cyan'],
  warning: 'yellow',
  heading: ['bold', 'cyan'],
  code: 'cyan',
  link: ['underline', 'cyan'],
  number: 'yellow',
};
const LIGHT: Readonly<Record<Meaning, Format>> = {
  ...COMMON,
  comment: 'dim',
  user: ['bold', 'green'],
  assistant: ['bold', 'blue'],
  warning: ['bold', 'magenta'],
  heading: ['bold', 'blue'],
  code: 'blue',
  link: ['underline', 'blue'],
  number: 'blue',
};

/** Many terminals set COLORFGBG to "foreground;background"; 7 and 15 are the light ones of the 16 colors. */
function isLightTerminal(env: NodeJS.ProcessEnv = terminalEnv()): boolean {
  return /[;](?:7|15)$/.test(env['COLORFGBG'] ?? '');
}

/** The text in the color of its meaning; plain where colors are off. */
export function color(meaning: Meaning, text: string): string {
  return text === '' ? '' : style((isLightTerminal() ? LIGHT : DARK)[meaning], text);
}
