import { signal } from '@preact/signals';
import type { SessionView } from 'reprise/client';

const KEY = 'reprise.read';
const MAX_SESSIONS = 500;

/** The last line of each session that this browser has shown. */
const read = signal<ReadonlyMap<string, number>>(load());

function load(): ReadonlyMap<string, number> {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]');
    return new Map(Array.isArray(stored) ? (stored as [string, number][]) : []);
  } catch {
    return new Map(); // written by another version, or no storage
  }
}

/** New messages came since the session was shown. A session that was never listed before is not unread. */
export function isUnread({ id, lastSeq }: Pick<SessionView, 'id' | 'lastSeq'>): boolean {
  const seen = read.value.get(id);
  return seen !== undefined && lastSeq > seen;
}

/** Remembers sessions that are listed for the first time, and the one that is shown. */
export function markRead(sessions: readonly SessionView[], shownId: string | undefined): void {
  const next = new Map(read.peek());
  for (const { id, lastSeq } of sessions) if (!next.has(id) || id === shownId) next.set(id, lastSeq);
  const isSame =
    next.size === read.peek().size && [...next].every(([id, seq]) => read.peek().get(id) === seq);
  if (isSame) return;
  read.value = next;
  try {
    localStorage.setItem(KEY, JSON.stringify([...next].slice(-MAX_SESSIONS)));
  } catch {
    // the storage is full: unread marks are lost on reload
  }
}
