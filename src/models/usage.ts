import type { Usage } from '../transcript/entry.ts';
import type { ModelCost } from './model.ts';

export interface TokenCounts {
  /** Without what came from or went to a cache. */
  readonly input: number;
  readonly output: number;
  readonly cacheRead?: number | undefined;
  readonly cacheWrite?: number | undefined;
  /** Part of `output`. */
  readonly reasoning?: number | undefined;
}

const MILLION = 1_000_000;

/** Usage in its stored form. Without prices the cost is unset, because zero would mean that it was free. */
export function usageOf(counts: TokenCounts, prices?: ModelCost): Usage {
  const { input, output, cacheRead = 0, cacheWrite = 0, reasoning } = counts;
  return {
    input,
    output,
    cacheRead,
    cacheWrite,
    totalTokens: input + output + cacheRead + cacheWrite,
    ...(reasoning !== undefined && reasoning > 0 && { reasoning }),
    ...(prices !== undefined && { cost: costOf({ input, output, cacheRead, cacheWrite }, prices) }),
  };
}

function costOf(
  { input, output, cacheRead, cacheWrite }: Required<Omit<TokenCounts, 'reasoning'>>,
  prices: ModelCost,
): Record<string, number> {
  const cost = {
    input: (input * prices.input) / MILLION,
    output: (output * prices.output) / MILLION,
    cacheRead: ((cacheRead ?? 0) * (prices.cacheRead ?? prices.input)) / MILLION,
    cacheWrite: ((cacheWrite ?? 0) * (prices.cacheWrite ?? prices.input)) / MILLION,
  };
  return { ...cost, total: cost.input + cost.output + cost.cacheRead + cost.cacheWrite };
}
