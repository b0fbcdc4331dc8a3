import type { SessionView } from 'reprise/client';
import { channelOf } from './session-keys.ts';

/** The prefix that the engine puts before messages in shared chats. */
const SENDER = /^\[([^\]\n]{1,80})\] /;
const SHARED = /^agent:[^:]+:[^:]+:(?:(?!direct:)[^:]+:)?(?:group|channel):/;

export interface Spoken {
  /** The sender's name on the channel. */
  readonly author?: string;
  /** The sender is unknown: the owner on the page, or a member of the channel. */
  readonly isAnybody?: true;
  readonly said: string;
}

/**
 * Finds the sender of a message. Only shared chats mark senders; in other chats a name in brackets is part of the
 * user's text and must not be taken for a sender.
 */
export function whoSaid(text: string, view: Pick<SessionView, 'sessionKey'> | undefined): Spoken {
  if (view === undefined || channelOf(view) === undefined) return { said: text };
  if (!SHARED.test(view.sessionKey)) return { said: text, isAnybody: true };
  const [mark = '', author] = SENDER.exec(text) ?? [];
  return { ...(author !== undefined && { author }), said: text.slice(mark.length) };
}
