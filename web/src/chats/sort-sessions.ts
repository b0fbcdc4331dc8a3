import type { SessionView } from 'reprise/client';

export type SessionSort = 'time' | 'messages' | 'tokens';

/** The list comes newest first; equals stay in that order. */
export function sortSessions(list: readonly SessionView[], by: SessionSort): readonly SessionView[] {
  if (by === 'time') return list;
  const weight = ({ messageCount, tokenEstimate }: SessionView): number =>
    by === 'messages' ? messageCount : tokenEstimate;
  return list.toSorted((a, b) => weight(b) - weight(a));
}
