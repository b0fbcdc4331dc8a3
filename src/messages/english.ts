import { ENGLISH_CLI } from './english/english-cli.ts';
import { ENGLISH_CLIENT } from './english/english-client.ts';
import { ENGLISH_COMMANDS } from './english/english-commands.ts';
import { ENGLISH_CONVERSATIONS } from './english/english-conversations.ts';
import { ENGLISH_COPIES } from './english/english-copies.ts';
import { ENGLISH_INTEROP } from './english/english-interop.ts';
import { ENGLISH_KEYS } from './english/english-keys.ts';
import { ENGLISH_MODELS } from './english/english-models.ts';
import { ENGLISH_POSTGRES } from './english/english-postgres.ts';
import { ENGLISH_REQUESTS } from './english/english-requests.ts';
import { ENGLISH_SETTINGS } from './english/english-settings.ts';
import { ENGLISH_STORES } from './english/english-stores.ts';
import { ENGLISH_TOOLS } from './english/english-tools.ts';
import { ENGLISH_TURNS } from './english/english-turns.ts';
import { type Message, type MessageTable, textOf, translate } from './message.ts';

/** The one table of English texts: of the command line, of logs, of `message` fields in HTTP answers, and of the page. */
export const ENGLISH: MessageTable = {
  ...ENGLISH_COMMANDS,
  ...ENGLISH_CONVERSATIONS,
  ...ENGLISH_INTEROP,
  ...ENGLISH_KEYS,
  ...ENGLISH_MODELS,
  ...ENGLISH_SETTINGS,
  ...ENGLISH_TOOLS,
  ...ENGLISH_TURNS,
  ...ENGLISH_REQUESTS,
  ...ENGLISH_CLIENT,
  ...ENGLISH_CLI,
  ...ENGLISH_STORES,
  ...ENGLISH_COPIES,
  ...ENGLISH_POSTGRES,
};

/** The text of a message; of a failure, what failed in one line and what to do next in another. */
export function messageText(message: Message): string {
  return textOf(ENGLISH, message) ?? '';
}

/** As `messageText`, without the next step: a phrase for the middle of a sentence. */
export function causeText(message: Message): string {
  const text = translate(ENGLISH, message) ?? '';
  return typeof text === 'string' ? text : text[0];
}

export function messagesText(messages: readonly Message[]): string {
  return messages.map(messageText).join('\n');
}
