import type { SessionView } from 'reprise/client';
import { beforeEach, expect, test, vi } from 'vitest';
import { groupSessions } from '../../web/src/sidebar/session-groups.ts';
import { Kept } from './support/kept.ts';

const NOW = new Date(2026, 10, 19, 15, 0, 0);
const session = (id: string, hoursAgo: number, settings = {}): SessionView =>
  ({
    id,
    lastAt: new Date(NOW.getTime() - hoursAgo * 3_600_000).toISOString(),
    settings,
    lastSeq: 1,
  }) as SessionView;

test('sessions are grouped by day, pinned ones first, and no group is empty', () => {
  const rows = groupSessions(
    [
      session('a', 1),
      session('b', 14.9),
      session('c', 15.1),
      session('d', 100, { 'x-pinned': true }),
      session('e', 2000),
    ],
    NOW,
  );
  const shown = rows.map((row) => (row.type === 'group' ? row.name : row.session.id));
  expect(shown).toEqual(['pinnedSessions', 'd', 'today', 'a', 'b', 'yesterday', 'c', 'older', 'e']);
  expect(new Set(rows.map(({ key }) => key)).size).toBe(rows.length);
});

beforeEach(() => {
  vi.resetModules();
  vi.stubGlobal('localStorage', new Kept());
});

test('a session is unread when it grew since it was shown, also after a reload, and not when it is new', async () => {
  const first = await import('../../web/src/sidebar/unread.ts');
  first.markRead([session('a', 1), session('b', 1)], 'a');
  expect([first.isUnread({ id: 'a', lastSeq: 1 }), first.isUnread({ id: 'new', lastSeq: 9 })]).toEqual([
    false,
    false,
  ]);
  expect(first.isUnread({ id: 'b', lastSeq: 3 })).toBe(true);
  vi.resetModules();
  const again = await import('../../web/src/sidebar/unread.ts');
  const grown = { ...session('b', 1), lastSeq: 3 };
  again.markRead([grown], undefined);
  expect(again.isUnread(grown)).toBe(true);
  again.markRead([grown], 'b');
  expect(again.isUnread(grown)).toBe(false);
});
