import { type ErrorCode, RepriseError, type RepriseErrorOptions } from '../errors.ts';
import { type Message, type MessageCode, type MessageTable, translate } from './message.ts';
import type { MessageParams } from './params.ts';

export type FailureArguments<C extends MessageCode> = keyof MessageParams[C] extends never
  ? readonly [params?: MessageParams[C], options?: RepriseErrorOptions]
  : readonly [params: MessageParams[C], options?: RepriseErrorOptions];

/** As `failure`, with the texts of one table: the client must not load all texts into a page. */
export function failureIn<T extends Partial<MessageTable>, C extends MessageCode & keyof T>(
  table: T,
  code: ErrorCode,
  why: C,
  ...given: FailureArguments<C>
): RepriseError {
  const [params = {}, options] = given as readonly [object?, RepriseErrorOptions?];
  return failureOf(table, code, { code: why, params } as Message, options);
}

export function failureOf(
  table: Partial<MessageTable>,
  code: ErrorCode,
  why: Message,
  { details, ...options }: RepriseErrorOptions = {},
): RepriseError {
  const text = translate(table, why) ?? '';
  const [what, next] = typeof text === 'string' ? [text] : text;
  return new RepriseError(code, what, {
    ...options,
    why,
    details: { ...details, ...(next !== undefined && { next }) },
  });
}
