import type { RepriseError } from '../../errors.ts';

export interface RetryPolicy {
  /** Attempts after the first one. */
  readonly maxRetries: number;
  readonly baseDelayMs: number;
  readonly maxDelayMs: number;
  /**
   * If a provider asks for a longer wait, the request is not retried: the error contains the wait, and the caller
   * decides.
   */
  readonly maxRetryAfterMs: number;
}

export const DEFAULT_RETRY_POLICY: RetryPolicy = {
  maxRetries: 4,
  baseDelayMs: 500,
  maxDelayMs: 8000,
  maxRetryAfterMs: 60_000,
};

/** How long to wait before the next attempt. @returns `undefined` if there should be none. */
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
  // Half fixed, half random, so that callers that failed together do not retry together.
  return Math.round(backoff / 2 + (backoff / 2) * random());
}
