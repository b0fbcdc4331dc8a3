import { RepriseError } from '../../errors.ts';
import { escapeForTerminal } from './print.ts';

/** Whether a person is there to answer. stdout may be a pipe: questions are talk. */
export function isInteractive(): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true;
}

/** Asked on a terminal; elsewhere whoever calls has to have said `--yes`. */
export async function confirm(question: string, { yes }: { readonly yes?: unknown }): Promise<boolean> {
  if (yes === true) return true;
  if (!isInteractive()) {
    throw new RepriseError('INVALID_INPUT', 'this asks first, and nobody is there to answer', {
      details: { next: 'Add --yes to do it without a question.' },
    });
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
  return new RepriseError('ABORTED', 'nothing was done');
}
