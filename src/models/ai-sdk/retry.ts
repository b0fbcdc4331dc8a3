import type { RepriseError } from '../../errors.ts';

export interface RetryPolicy {
  /** Tries after the first one. */
  readonly maxRetries: number;
  readonly baseDelayMs: number;
  readonly maxDelayMs: number;
  /** A provider that asks for a longer wait gets none: the caller is told how long and decides. */
  readonly maxRetryAfterMs: number;
}

export const DEFAULT_RETRY_POLICY: RetryPolicy = {
  maxRetries: 4,
  baseDelayMs: 500,
  maxDelayMs: 8000,
  maxRetryAfterMs: 60_000,
};

/** How long to wait before the next try, or undefined when there is to be none. */
export function retryDelay(
  { details }: RepriseError,
  attempt: number,
  policy: RetryPolicy,
  random: () => number,
): number | undefined {
  if (details['retryable'] !== true || attempt > policy.maxRetries) return undefined;
  const asked = details['retryAfterMs'];
  if (typeof asked === 'number') return asked <= policy.maxRetryAfterMs ? asked : undefined;
  const backoff = Math.min(policy.maxDelayMs, policy.baseDelayMs * 2 ** (attempt - 1));
  // Half fixed, half random: callers that failed together do not come back together.
  return Math.round(backoff / 2 + (backoff / 2) * random());
}
