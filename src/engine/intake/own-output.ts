import { RepriseError } from '../../errors.ts';
import type { Store } from '../../store/port/store.ts';
import { chatOf } from '../admin/channel-log.ts';
import type { InboundMessage } from './inbound.ts';

/** As inbox rows store it. */
export const OWN_OUTPUTS = ['own account', 'own words'] as const;
export type OwnOutput = (typeof OWN_OUTPUTS)[number];

/** People do not repeat longer texts word for word, but they do repeat a short "ok". */
const MIN_CHARS = 40;
const RECENT = 5;

/**
 * Detects messages that are our own output coming back. An answer to it would make the agent talk to itself forever.
 * @returns the reason, or undefined for other messages.
 */
export async function ownOutput(
  { convlog }: Store,
  agentId: string,
  message: InboundMessage,
): Promise<OwnOutput | undefined> {
  const { account, sender, channel, text } = message;
  if (account !== undefined && sender?.id === account) return 'own account';
  if (text.trim().length < MIN_CHARS) return undefined;
  const chat = { agentId, channelType: channel, channelId: chatOf(message) };
  const { lines } = await convlog
    .read(chat, { direction: 'backward', limit: RECENT })
    .catch((error: unknown) => {
      // The first message of a chat cannot be an echo.
      if (error instanceof RepriseError && error.code === 'NOT_FOUND') return { lines: [] };
      throw error;
    });
  const isOurs = lines.some(({ role, content }) => role === 'assistant' && content.trim() === text.trim());
  return isOurs ? 'own words' : undefined;
}
