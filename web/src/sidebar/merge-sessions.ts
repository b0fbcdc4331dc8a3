import type { SessionView } from 'reprise/client';
import { nameOf } from '../conversation/session-keys.ts';

/** Puts a new page over the known sessions: each session once, newest first. */
export function mergeSessions(
  known: readonly SessionView[],
  fresh: readonly SessionView[],
): readonly SessionView[] {
  const byId = new Map(known.map((session) => [session.id, session]));
  for (const session of fresh) byId.set(session.id, session);
  return [...byId.values()].sort(compare);
}

/** The server's order: newest first, then by descending id. */
function compare(a: SessionView, b: SessionView): number {
  return a.lastAt < b.lastAt ? 1 : a.lastAt > b.lastAt ? -1 : a.id < b.id ? 1 : -1;
}

/**
 * The known sessions after a new first page. Sessions missing from the page's range are dropped: they were deleted, or
 * renamed and no longer match the filter.
 */
export function behindPage(
  known: readonly SessionView[],
  { data, hasMore }: { readonly data: readonly SessionView[]; readonly hasMore: boolean },
): readonly SessionView[] {
  const last = data.at(-1);
  return hasMore && last !== undefined ? known.filter((session) => compare(session, last) > 0) : [];
}

/** Filters the loaded sessions at once, while the server is asked for the rest. */
export function matchesText(session: SessionView, text: string): boolean {
  const wanted = text.trim().toLowerCase();
  if (wanted === '') return true;
  return [nameOf(session), session.title, session.id].some((part) => part.toLowerCase().includes(wanted));
}
