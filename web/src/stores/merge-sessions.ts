import type { SessionView } from 'reprise/client';
import { nameOf } from './session-keys.ts';

/** A newer page over what was known: each session once, newest first. */
export function mergeSessions(
  known: readonly SessionView[],
  fresh: readonly SessionView[],
): readonly SessionView[] {
  const byId = new Map(known.map((session) => [session.id, session]));
  for (const session of fresh) byId.set(session.id, session);
  return [...byId.values()].sort((a, b) =>
    a.lastAt < b.lastAt ? 1 : a.lastAt > b.lastAt ? -1 : a.id < b.id ? 1 : -1,
  );
}

/** At once, on what is loaded; the server is asked for the rest meanwhile. */
export function matchesText(session: SessionView, text: string): boolean {
  const wanted = text.trim().toLowerCase();
  if (wanted === '') return true;
  return [nameOf(session), session.title, session.id].some((part) => part.toLowerCase().includes(wanted));
}
