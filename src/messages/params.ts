import type { CommandMessages } from './params-commands.ts';
import type { ConversationMessages } from './params-conversations.ts';
import type { RequestMessages } from './params-requests.ts';

/** Every code with the parameters of its text. A new parameter is optional: clients of other versions do not send it. */
export interface MessageParams extends CommandMessages, ConversationMessages, RequestMessages {}

/** A code without parameters. */
export type None = Readonly<Record<never, never>>;
