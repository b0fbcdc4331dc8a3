import type { ErrorCode, RepriseError } from '../errors.ts';
import { ENGLISH_CLIENT } from '../messages/english/english-client.ts';
import { type FailureArguments, failureIn } from '../messages/failure-in.ts';
import type { ClientMessages } from '../messages/params/params-client.ts';

/** An error of the client itself. Pages include this file, so it uses the client's texts only. */
export function clientFailure<C extends keyof ClientMessages>(
  code: ErrorCode,
  why: C,
  ...given: FailureArguments<C>
): RepriseError {
  return failureIn(ENGLISH_CLIENT, code, why, ...given);
}
