import type { SessionRecord } from '../../store/store.ts';
import { counted } from './command-context.ts';

/** What people call a session: the label somebody gave it, else the title it got from its first words. One line. */
export function sessionName({
  label,
  title,
}: {
  readonly label?: string | undefined;
  readonly title: string;
}): string {
  return (label ?? title).replace(/\s+/g, ' ').trim() || '(untitled)';
}

export function sessionFacts(record: SessionRecord, now: Date): string {
  const { id, sessionKey, messageCount, lastAt, corruptAt } = record;
  const damaged = corruptAt === undefined ? '' : ' · damaged';
  return `${id} · ${sessionKey} · ${counted(messageCount, 'message')} · ${ago(lastAt, now)}${damaged}`;
}

export function ago(time: string, now: Date): string {
  const minutes = Math.max(0, Math.round((now.getTime() - Date.parse(time)) / 60_000));
  if (minutes < 1) return 'just now';
  if (minutes < 60) return `${minutes} min ago`;
  if (minutes < 48 * 60) return `${Math.round(minutes / 60)} h ago`;
  return `${Math.round(minutes / 1440)} days ago`;
}
