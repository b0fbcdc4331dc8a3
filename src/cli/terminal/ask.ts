import type { RepriseError } from '../../errors.ts';
import { failure } from '../../messages/failure.ts';
import { escapeForTerminal } from './print.ts';

/** Whether a person can answer. stdout may be a pipe, because questions are printed on stderr. */
export function isInteractive(): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true;
}

/** Asks on a terminal; without one, --yes is required. */
export async function confirm(question: string, { yes }: { readonly yes?: unknown }): Promise<boolean> {
  if (yes === true) return true;
  if (!isInteractive()) {
    throw failure('INVALID_INPUT', 'cli.needsYes');
  }
  const { confirm: ask, isCancel } = await import('@clack/prompts');
  const answer = await ask({
    message: escapeForTerminal(question),
    initialValue: false,
    output: process.stderr,
  });
  if (isCancel(answer)) throw cancelled();
  return answer;
}

export function cancelled(): RepriseError {
  return failure('ABORTED', 'cli.cancelled');
}
