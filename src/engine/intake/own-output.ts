import { RepriseError } from '../../errors.ts';
import type { Store } from '../../store/port/store.ts';
import { chatOf } from '../admin/channel-log.ts';
import type { InboundMessage } from './inbound.ts';

/** As inbox rows store it. */
export const OWN_OUTPUTS = ['own account', 'own words'] as const;
export type OwnOutput = (typeof OWN_OUTPUTS)[number];

/** Nobody repeats this much word for word; a short "ok" they do. */
const MIN_CHARS = 40;
const RECENT = 5;

/**
 * Why a message is our own output coming back, or undefined: it is not. Answering it would make an agent talk to
 * itself for ever.
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
      // The first words in a chat are nobody's echo.
      if (error instanceof RepriseError && error.code === 'NOT_FOUND') return { lines: [] };
      throw error;
    });
  const isOurs = lines.some(({ role, content }) => role === 'assistant' && content.trim() === text.trim());
  return isOurs ? 'own words' : undefined;
}
