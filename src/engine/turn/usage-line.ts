import { count } from '../../messages/english-format.ts';
import type { Usage } from '../../transcript/entry.ts';

/** How much of what a turn used its reply tells. `on` is `tokens`. */
export type ResponseUsage = 'off' | 'on' | 'tokens' | 'full';

/** The line under a reply that says what it took; undefined: none. Without a price there is no cost to tell. */
export function usageLine(usage: Usage, cost: number | undefined, level: ResponseUsage): string | undefined {
  if (level === 'off') return undefined;
  const { input, output, cacheRead, cacheWrite } = usage;
  // What came from a cache was sent all the same.
  const words = [`${count(input + cacheRead + cacheWrite)} in`, `${count(output)} out`];
  if (level !== 'full') return `Tokens: ${words.join(', ')}`;
  if (cacheRead > 0) words.push(`${count(cacheRead)} from cache`);
  if (cacheWrite > 0) words.push(`${count(cacheWrite)} to cache`);
  const price = cost ?? usage.cost?.['total'];
  if (price !== undefined) words.push(`cost ${money(price)}`);
  return `Tokens: ${words.join(', ')}`;
}

/** Two digits that say something, however small the price. The currency is that of the model's prices. */
function money(price: number): string {
  if (price === 0 || price >= 1) return price.toFixed(2);
  const digits = Math.min(8, 1 - Math.floor(Math.log10(price)));
  return price.toFixed(Math.max(2, digits));
}
