import type { SessionView } from 'reprise/client';
import { channelOf } from './session-keys.ts';

/** As the engine puts it before what is said where several are heard. */
const SENDER = /^\[([^\]\n]{1,80})\] /;
const PEER = /:direct:([^:]+)/;

export interface Spoken {
  /** Unset: whoever looks at it. */
  readonly author?: string;
  readonly said: string;
}

/** On a channel it is a member of it who speaks. */
export function whoSaid(text: string, view: SessionView | undefined): Spoken {
  if (view === undefined || channelOf(view) === undefined) return { said: text };
  const [mark = '', name] = SENDER.exec(text) ?? [];
  const author = name ?? PEER.exec(view.sessionKey)?.[1];
  return { ...(author !== undefined && { author }), said: text.slice(mark.length) };
}
