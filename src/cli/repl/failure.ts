import { ERROR_TABLE, type ErrorCode } from '../../errors.ts';
import { NEXT_STEP } from '../next-step.ts';
import { printError } from '../terminal/print.ts';

const NEXT: Partial<Record<ErrorCode, string>> = {
  UNAUTHORIZED: NEXT_STEP.UNAUTHORIZED,
  MODEL_AUTH: 'Check the key of this provider, or choose another model: /model <name>',
  MODEL_UNKNOWN: 'Choose another model: /model <name>',
  MODEL_TIMEOUT: 'The partial answer is kept. /retry asks again.',
  MODEL_FAILED: 'The partial answer is kept. /retry asks again, /model <name> uses another model.',
  CONTEXT_OVERFLOW: '/compact summarizes older messages, /new starts a new session.',
  CONTEXT_WINDOW_TOO_SMALL: 'Choose a model with a larger window: /model <name>',
  STORE_CORRUPT: '/repair copies what can be read into a new session.',
  SESSION_DELETED: '/new starts a new session, /sessions lists the existing ones.',
  GONE: '/new starts a new session, /sessions lists the existing ones.',
};

/** Prints one line with the cause and one with the next step; the chat continues. */
export function sayFailure(error: unknown): void {
  printError(
    error,
    (code) =>
      NEXT[code] ?? (ERROR_TABLE[code].retryable ? '/retry asks again.' : '/help lists what can be done.'),
  );
}
