import { factsText, named } from '../../messages/english/english-commands.ts';
import type { SessionFacts } from '../../messages/params/params-commands.ts';
import type { SessionRecord } from '../../store/port/store.ts';

interface Named {
  readonly label?: string | undefined;
  readonly title: string;
}

/** The label of a session, or the title made from its first message, on one line. Empty if it has neither. */
export function ownName({ label, title }: Named): string {
  return (label ?? title).replace(/\s+/g, ' ').trim();
}

/** Like `ownName`, with a placeholder for a session without a name. */
export function sessionName(session: Named): string {
  return named(ownName(session));
}

export function factsOf(record: SessionRecord, now: Date): SessionFacts {
  const { id, sessionKey, messageCount, lastSeq, lastAt, corruptAt } = record;
  return {
    id,
    sessionKey,
    // Only the header of its transcript was read, so the count is unknown.
    messages: lastSeq === 0 ? null : messageCount,
    minutesAgo: minutesAgo(lastAt, now),
    isDamaged: corruptAt !== undefined,
  };
}

export function sessionFacts(record: SessionRecord, now: Date): string {
  return factsText(factsOf(record, now));
}

export function minutesAgo(time: string, now: Date): number {
  return Math.max(0, Math.round((now.getTime() - Date.parse(time)) / 60_000));
}
