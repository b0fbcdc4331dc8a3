import { ERROR_TABLE, type ErrorCode } from '../../errors.ts';
import { NEXT_STEP } from '../next-step.ts';
import { printError } from '../terminal/print.ts';

const NEXT: Partial<Record<ErrorCode, string>> = {
  UNAUTHORIZED: NEXT_STEP.UNAUTHORIZED,
  MODEL_AUTH: 'Check the key of this provider, or choose another model: /model <name>',
  MODEL_UNKNOWN: 'Choose another model: /model <name>',
  MODEL_TIMEOUT: 'What arrived is kept. /retry asks again.',
  MODEL_FAILED: 'What arrived is kept. /retry asks again, /model <name> asks somebody else.',
  CONTEXT_OVERFLOW: '/compact sums up older messages, /new begins a new session.',
  CONTEXT_WINDOW_TOO_SMALL: 'Choose a model with a larger window: /model <name>',
  STORE_CORRUPT: '/repair goes on with what can be read.',
  SESSION_DELETED: '/new begins a new session, /sessions lists what there is.',
  GONE: '/new begins a new session, /sessions lists what there is.',
};

/** One line of cause, one of next step; the chat goes on. */
export function sayFailure(error: unknown): void {
  printError(
    error,
    (code) =>
      NEXT[code] ?? (ERROR_TABLE[code].retryable ? '/retry asks again.' : '/help lists what can be done.'),
  );
}
