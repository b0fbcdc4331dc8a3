import { messageText } from '../../messages/english.ts';
import { type Message, message } from '../../messages/message.ts';
import type { Usage } from '../../transcript/entry.ts';

/** Which usage a reply shows at its end. `on` means `tokens`. */
export type ResponseUsage = 'off' | 'on' | 'tokens' | 'full';

/** The line under a reply: what its turn used. @returns undefined if the level is `off`. */
export function usageMessage(
  usage: Usage,
  cost: number | undefined,
  level: ResponseUsage,
): Message | undefined {
  if (level === 'off') return undefined;
  const { input, output, cacheRead, cacheWrite } = usage;
  const isFull = level === 'full';
  return message('turn.usage', {
    // Tokens that came from a cache were sent all the same.
    input: input + cacheRead + cacheWrite,
    output,
    cacheRead: isFull && cacheRead > 0 ? cacheRead : null,
    cacheWrite: isFull && cacheWrite > 0 ? cacheWrite : null,
    cost: isFull ? (cost ?? usage.cost?.['total'] ?? null) : null,
  });
}

/** `usageMessage` in English. */
export function usageLine(...given: Parameters<typeof usageMessage>): string | undefined {
  const used = usageMessage(...given);
  return used && messageText(used);
}
