import { once } from 'node:events';
import { styleText } from 'node:util';
import { type ErrorCode, RepriseError } from '../../errors.ts';
import { NEXT_STEP } from '../next-step.ts';
import { asStarted } from '../started-as.ts';
import { eraseTransient } from './transient.ts';

/**
 * Characters that act on a terminal: controls except newline and tab, and bidi overrides. They are printed as escapes.
 * Titles, names and model text all pass through here.
 */
const UNSAFE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

export function escapeForTerminal(text: string): string {
  return text.replace(UNSAFE, (c) => {
    const code = c.charCodeAt(0);
    return code < 0x100
      ? `\\x${code.toString(16).padStart(2, '0')}`
      : `\\u${code.toString(16).padStart(4, '0')}`;
  });
}

type Style = Parameters<typeof styleText>[0];

/** Colors follow NO_COLOR, FORCE_COLOR and whether stdout is a terminal. */
export function style(format: Style, text: string): string {
  return styleText(format, text, { stream: process.stdout });
}

/** Whether `style` colors anything. */
export function hasColors(): boolean {
  return style('bold', 'x') !== 'x';
}

/** stdout carries data only. */
export function print(text: string): void {
  eraseTransient();
  process.stdout.write(`${text}\n`);
}

/**
 * A value as JSON. Control and bidi characters are escaped, so that no text in it acts on a terminal; a program that
 * parses it gets the same value (I-50).
 */
export function jsonText(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replace(
    UNSAFE,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

export function printJson(value: unknown, indent?: number): void {
  print(jsonText(value, indent));
}

/** Waits for stdout to drain. On a terminal control characters are escaped; a pipe gets the exact bytes. */
export async function printPieces(pieces: Iterable<string>): Promise<void> {
  const { stdout } = process;
  eraseTransient();
  for (const piece of pieces) {
    if (stdout.write(stdout.isTTY ? escapeForTerminal(piece) : piece)) continue;
    await once(stdout, 'drain');
  }
}

/** The format of all list commands with `--json`. */
export function printPage(
  data: readonly unknown[],
  {
    hasMore = false,
    lastId = null,
    ...more
  }: { readonly hasMore?: boolean; readonly lastId?: string | null; readonly [name: string]: unknown } = {},
): void {
  printJson({ data, hasMore, lastId, ...more }, 2);
}

/** stderr carries messages to the user. */
export function say(text: string): void {
  eraseTransient();
  process.stderr.write(`${text}\n`);
}

/**
 * Prints one line with the cause and one with the next step. @returns the exit code of the error.
 */
export function printError(error: unknown, nextStep: (code: ErrorCode) => string = commandStep): number {
  if (!(error instanceof RepriseError)) throw error;
  const { code, details, why } = error;
  // The next step of a missing token, or one that applies to a whole class of errors, is written for API clients.
  const isForPrograms =
    (code === 'UNAUTHORIZED' && why?.code !== 'cli.noToken') || details['general'] === true;
  const said = isForPrograms ? undefined : details['next'];
  const next = typeof said === 'string' ? said : nextStep(code);
  say(style('red', `reprise: ${escapeForTerminal(error.message)} (${code})`));
  say(escapeForTerminal(asStarted(next)));
  return error.exitCode;
}

function commandStep(code: ErrorCode): string {
  return NEXT_STEP[code];
}
