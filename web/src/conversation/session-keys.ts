import type { SessionView } from 'reprise/client';
import { t } from '../i18n/strings.ts';

const JOB = /^agent:[^:]+:(?:subagent|cron|hook|acp):/;
const CHANNEL = /^agent:[^:]+:([^:]+):(?:[^:]+:)?(?:direct|group|channel):/;

/** Made by another session or a clock, not by a person. */
export function isJob({ sessionKey }: Pick<SessionView, 'sessionKey'>): boolean {
  return JOB.test(sessionKey);
}

/** Where its messages come from; undefined: from its owner. */
export function channelOf({ sessionKey }: Pick<SessionView, 'sessionKey'>): string | undefined {
  // As it is called, not as a key spells it.
  return CHANNEL.exec(sessionKey)?.[1]?.replace(/%(?:u(.{4})|(..))/g, (_all, unit, ascii) =>
    String.fromCharCode(Number.parseInt(unit ?? ascii, 16)),
  );
}

type Named = Pick<SessionView, 'label' | 'title' | 'id'> & Partial<Pick<SessionView, 'messageCount'>>;

/** What people call it. */
export function nameOf({ label, title, id, messageCount }: Named): string {
  return label || title || (messageCount === 0 ? t('newChat') : id);
}
