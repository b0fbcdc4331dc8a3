import type { SessionView } from 'reprise/client';
import { nameOf } from '../conversation/session-keys.ts';

/** A newer page over what was known: each session once, newest first. */
export function mergeSessions(
  known: readonly SessionView[],
  fresh: readonly SessionView[],
): readonly SessionView[] {
  const byId = new Map(known.map((session) => [session.id, session]));
  for (const session of fresh) byId.set(session.id, session);
  return [...byId.values()].sort(compare);
}

/** As the server lists them: newest first, and of those of one moment the last by their ids. */
function compare(a: SessionView, b: SessionView): number {
  return a.lastAt < b.lastAt ? 1 : a.lastAt > b.lastAt ? -1 : a.id < b.id ? 1 : -1;
}

/**
 * Of what was known, what comes behind a first page that is newer. The page tells what is in its stretch: what is gone
 * from there was deleted, or renamed out of the filter.
 */
export function behindPage(
  known: readonly SessionView[],
  { data, hasMore }: { readonly data: readonly SessionView[]; readonly hasMore: boolean },
): readonly SessionView[] {
  const last = data.at(-1);
  return hasMore && last !== undefined ? known.filter((session) => compare(session, last) > 0) : [];
}

/** At once, on what is loaded; the server is asked for the rest meanwhile. */
export function matchesText(session: SessionView, text: string): boolean {
  const wanted = text.trim().toLowerCase();
  if (wanted === '') return true;
  return [nameOf(session), session.title, session.id].some((part) => part.toLowerCase().includes(wanted));
}
