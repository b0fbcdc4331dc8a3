import type { SessionView } from 'reprise/client';
import { channelOf } from './session-keys.ts';

/** As the engine puts it before what is said where several are heard. */
const SENDER = /^\[([^\]\n]{1,80})\] /;
const SHARED = /^agent:[^:]+:[^:]+:(?:(?!direct:)[^:]+:)?(?:group|channel):/;

export interface Spoken {
  /** As the channel calls them. */
  readonly author?: string;
  /** Whoever looks at it, or somebody on the channel: what is stored does not tell. */
  readonly isAnybody?: true;
  readonly said: string;
}

/**
 * Who spoke. Only a shared chat marks its senders: elsewhere a name in brackets is what somebody wrote, and nobody is
 * called by a name they gave themselves that way.
 */
export function whoSaid(text: string, view: Pick<SessionView, 'sessionKey'> | undefined): Spoken {
  if (view === undefined || channelOf(view) === undefined) return { said: text };
  if (!SHARED.test(view.sessionKey)) return { said: text, isAnybody: true };
  const [mark = '', author] = SENDER.exec(text) ?? [];
  return { ...(author !== undefined && { author }), said: text.slice(mark.length) };
}
