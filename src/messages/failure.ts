import { type ErrorCode, RepriseError, type RepriseErrorOptions } from '../errors.ts';
import { ENGLISH } from './english.ts';
import { type FailureArguments, failureIn, failureOf as failureInTable } from './failure-in.ts';
import type { Message, MessageCode } from './message.ts';

/**
 * An error whose cause has a code: surfaces translate `why`, and `message` and `details.next` are its English text.
 * `code` says what kind of error it is, for programs; `why` says which one, for people.
 */
export function failure<C extends MessageCode>(
  code: ErrorCode,
  why: C,
  ...given: FailureArguments<C>
): RepriseError {
  return failureIn(ENGLISH, code, why, ...given);
}

export function failureOf(code: ErrorCode, why: Message, options?: RepriseErrorOptions): RepriseError {
  return failureInTable(ENGLISH, code, why, options);
}

/** The same failure, thrown again with another code, other details or another outcome. */
export function sameFailure(
  error: RepriseError,
  { code = error.code, ...changes }: Omit<RepriseErrorOptions, 'why'> & { readonly code?: ErrorCode },
): RepriseError {
  const { message, why, details, outcome } = error;
  return new RepriseError(code, message, { why, details, outcome, cause: error, ...changes });
}
