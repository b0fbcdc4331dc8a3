import { type ErrorCode, RepriseError, type RepriseErrorOptions } from '../errors.ts';
import { ENGLISH } from './english.ts';
import { type Message, type MessageCode, translate } from './message.ts';
import type { MessageParams } from './params.ts';

/**
 * An error whose cause has a code: surfaces translate `why`, and `message` and `details.next` are its English text.
 * `code` says what kind of error it is, for programs; `why` says which one, for people.
 */
export function failure<C extends MessageCode>(
  code: ErrorCode,
  why: C,
  ...given: FailureArguments<C>
): RepriseError {
  const [params = {}, options] = given as readonly [object?, RepriseErrorOptions?];
  return failureOf(code, { code: why, params } as Message, options);
}

type FailureArguments<C extends MessageCode> = keyof MessageParams[C] extends never
  ? readonly [params?: MessageParams[C], options?: RepriseErrorOptions]
  : readonly [params: MessageParams[C], options?: RepriseErrorOptions];

export function failureOf(
  code: ErrorCode,
  why: Message,
  { details, ...options }: RepriseErrorOptions = {},
): RepriseError {
  const text = translate(ENGLISH, why) ?? '';
  const [what, next] = typeof text === 'string' ? [text] : text;
  return new RepriseError(code, what, {
    ...options,
    why,
    details: { ...details, ...(next !== undefined && { next }) },
  });
}

/** The same failure, thrown again with another code, other details or another outcome. */
export function sameFailure(
  error: RepriseError,
  {
    code = error.code,
    ...changes
  }: Omit<RepriseErrorOptions, 'why' | 'cause'> & { readonly code?: ErrorCode },
): RepriseError {
  const { message, why, details, outcome } = error;
  return new RepriseError(code, message, { why, details, outcome, ...changes, cause: error });
}
