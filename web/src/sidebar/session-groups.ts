import type { SessionView } from 'reprise/client';
import type { StringName } from '../i18n/strings.ts';

/** A row of the list: the name of a group, or a session. */
export type ListRow =
  | { readonly type: 'group'; readonly key: string; readonly name: StringName }
  | { readonly type: 'session'; readonly key: string; readonly session: SessionView };

const DAY_MS = 86_400_000;

export function isPinned({ settings }: Pick<SessionView, 'settings'>): boolean {
  return settings['x-pinned'] === true;
}

/** Pinned sessions first, the others by day in the time zone of the user. Empty groups are left out. */
export function groupSessions(sessions: readonly SessionView[], now: Date): readonly ListRow[] {
  const today = new Date(now.getFullYear(), now.getMonth(), now.getDate()).getTime();
  const groupOf = (session: SessionView): StringName => {
    if (isPinned(session)) return 'pinnedSessions';
    const at = Date.parse(session.lastAt);
    if (at >= today) return 'today';
    if (at >= today - DAY_MS) return 'yesterday';
    if (at >= today - 7 * DAY_MS) return 'lastWeek';
    return at >= today - 30 * DAY_MS ? 'lastMonth' : 'older';
  };
  const groups = Map.groupBy(sessions, groupOf);
  const order: readonly StringName[] = [
    'pinnedSessions',
    'today',
    'yesterday',
    'lastWeek',
    'lastMonth',
    'older',
  ];
  return order.flatMap((name): ListRow[] => {
    const members = groups.get(name) ?? [];
    if (members.length === 0) return [];
    const rows = members.map((session): ListRow => ({ type: 'session', key: session.id, session }));
    return [{ type: 'group', key: `group-${name}`, name }, ...rows];
  });
}
