import type { SQLInputValue } from 'node:sqlite';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ListQuery, ListSort, SessionPage } from '../../../src/store/port/store.ts';
import { recentOf } from '../../../src/store/rules/session-state.ts';
import { Database } from '../../../src/store/sqlite/database.ts';
import { prepareSchema } from '../../../src/store/sqlite/migrate.ts';
import { listSessions } from '../../../src/store/sqlite/read/list.ts';
import { getSession, saveSession } from '../../../src/store/sqlite/session-row.ts';
import { Listed } from '../../../src/store/sqlite/write/listed.ts';
import { shortest } from '../../support/engine/time-spent.ts';

interface Made {
  readonly id: string;
  readonly agent_id: string;
  readonly kind: string;
  readonly channel: string | null;
  readonly parent_id: string | null;
  readonly title: string;
  readonly status: 'open' | 'deleted';
  readonly last_at: string;
  readonly message_count: number;
  readonly token_estimate: number;
  readonly listed_messages: number;
  readonly listed_tokens: number;
  readonly grown: number;
}

/** Sessions of all sorts: some kinds are common, some so rare that going through all for them would take long. */
function make(count: number): { readonly db: Database; readonly made: readonly Made[] } {
  const db = new Database({ path: ':memory:', durability: 'os' });
  prepareSchema(db, { path: ':memory:' });
  const made = Array.from({ length: count }, (_, i): Made => {
    const at = new Date(1_700_000_000_000 + ((i * 7919) % count) * 500);
    return {
      id: `${i % 2 === 0 ? 'S' : 's'}-${i}`,
      agent_id: i % 4 === 0 ? 'a' : 'b',
      kind: i % 997 === 0 ? 'rare' : 'direct',
      channel: i % 5 === 0 ? null : i % 499 === 0 ? 'fax' : 'tg',
      parent_id: i % 10 === 1 ? `S-${i - 1}` : null,
      title: i % 701 === 0 ? `Holiday ${i}` : `talk ${i}`,
      status: i % 3 === 1 ? 'deleted' : 'open',
      last_at: at.toISOString(),
      ...counts(i),
    };
  });
  const columns = Object.keys(made[0] ?? {});
  db.transaction(() => {
    for (const row of made) {
      db.run(
        `INSERT INTO sessions (${columns.join()}, recent, key, created_at, seq, q) VALUES (${columns.map(() => '?').join()}, ?, ?, ?, 1, 1)`,
        ...Object.values(row),
        recentOf(row.last_at),
        `agent:${row.agent_id}:x:${row.id}`,
        row.last_at,
      );
    }
  });
  return { db, made };
}

/** Many sessions count the same, and of some, however many there are, the indexes have what they counted before. */
function counts(
  i: number,
): Pick<Made, 'message_count' | 'token_estimate' | 'listed_messages' | 'listed_tokens' | 'grown'> {
  const [message_count, token_estimate] = [(i * 31) % 50, (i * 101) % 4000];
  const listed = {
    listed_messages: i < 5000 && i % 83 === 0 ? 7 : message_count,
    listed_tokens: i < 5000 && i % 89 === 0 ? 0 : token_estimate,
  };
  const isListed = listed.listed_messages === message_count && listed.listed_tokens === token_estimate;
  return { message_count, token_estimate, ...listed, grown: isListed ? 0 : 1 };
}

function list(db: Database, query: ListQuery): SessionPage {
  const steps = listSessions(db, query);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

test('every filter and sort gives the sessions that match, in order, in pages without gaps', () => {
  const { db, made } = make(9000);
  const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined, freq: 2 });
  const query = fc.record({
    agentId: maybe(fc.constantFrom('a', 'b', 'nobody')),
    kind: maybe(fc.constantFrom('direct', 'rare')),
    channel: maybe(fc.constantFrom('tg', 'fax')),
    parentId: maybe(fc.constantFrom('S-0', 'S-990')),
    status: maybe(fc.constantFrom('open' as const, 'deleted' as const, 'any' as const)),
    text: maybe(fc.constantFrom('holiday', 'TALK', 'talk 12', 'nowhere')),
    sort: maybe(fc.constantFrom('time' as const, 'messages' as const, 'tokens' as const)),
    order: maybe(fc.constantFrom('asc' as const, 'desc' as const)),
  });
  fc.assert(
    fc.property(query, fc.constantFrom(3, 200), (asked, limit) => {
      const { agentId, kind, channel, parentId, status = 'open', text, sort, order } = asked;
      const expected = made
        .filter(
          (row) =>
            (agentId === undefined || row.agent_id === agentId) &&
            (kind === undefined || row.kind === kind) &&
            (channel === undefined || row.channel === channel) &&
            (parentId === undefined || row.parent_id === parentId) &&
            (status === 'any' || row.status === status) &&
            (text === undefined || row.title.toLowerCase().includes(text.toLowerCase())),
        )
        .toSorted((a, b) => (key(a, sort) < key(b, sort) === (order === 'asc') ? -1 : 1))
        .map(({ id }) => id);
      const filters = Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== undefined));
      const found: string[] = [];
      let cursor: string | null = null;
      do {
        const page: SessionPage = list(db, { ...filters, limit, ...(cursor !== null && { cursor }) });
        found.push(...page.sessions.map(({ id }) => id));
        cursor = page.cursor;
      } while (cursor !== null && found.length < 3 * limit);
      expect(found).toEqual(expected.slice(0, found.length));
      if (cursor === null) expect(found).toHaveLength(expected.length);
    }),
    { numRuns: 200, seed: 7 },
  );
  db.close();
});

function key({ last_at, id, message_count, token_estimate }: Made, sort: ListSort = 'time'): string {
  const count = sort === 'messages' ? message_count : token_estimate;
  return `${sort === 'time' ? last_at : String(count).padStart(9)} ${id.toLowerCase()}`;
}

test('a place in a list of one sort is no place in another', () => {
  const { db } = make(100);
  const { cursor } = list(db, { sort: 'messages', limit: 5 });
  const why = (code: string): Error => expect.objectContaining({ why: expect.objectContaining({ code }) });
  expect(() => list(db, { sort: 'tokens', cursor: cursor ?? '' })).toThrow(why('list.badCursor'));
  expect(() => list(db, { cursor: cursor ?? '' })).toThrow(why('list.badCursor'));
  expect(() => list(db, { sort: 'name' as ListSort })).toThrow(why('list.badSort'));
  expect(() => list(db, { order: 'up' as 'asc' })).toThrow(why('list.badOrder'));
  db.close();
});

test('what has grown is brought up to date beside the lists, which say the same before and after', () => {
  const { db } = make(3000);
  const grown = 'SELECT count(*) AS n FROM sessions WHERE grown = 1';
  const lists = (): SessionPage[] =>
    (['messages', 'tokens'] as const).map((sort) => list(db, { sort, status: 'any', limit: 1000 }));
  const before = lists();
  expect(db.row<{ n: number }>(grown)?.n).toBeGreaterThan(50);
  new Listed(db).bringUp();
  expect(db.row<{ n: number }>(grown)?.n).toBe(0);
  expect(lists()).toEqual(before);
  db.close();
});

test('I-74 what a process of an older version counts, which knows nothing of sorted lists, is in their order', () => {
  const { db } = make(300);
  new Listed(db).bringUp();
  const first = (sort: ListSort): string | undefined =>
    list(db, { sort, status: 'any', limit: 1 }).sessions[0]?.id;
  const numbers = 'message_count = ?, token_estimate = ?';
  db.run(`UPDATE sessions SET ${numbers}, seq = 9 WHERE id = ?`, 1000, 1, 'S-50');
  db.run(`UPDATE sessions SET ${numbers}, seq = 9 WHERE id = ?`, 1, 9_000_000, 's-51');
  expect([first('messages'), first('tokens')]).toEqual(['S-50', 's-51']);
  new Listed(db).bringUp();
  expect([first('messages'), first('tokens')]).toEqual(['S-50', 's-51']);
  expect(db.row<{ n: number }>('SELECT count(*) AS n FROM sessions WHERE grown = 1')?.n).toBe(0);
  db.close();
});

test('an append says once that its session has grown, and nothing when it has already', () => {
  const { db } = make(10);
  new Listed(db).bringUp();
  const changes = (): number => db.row<{ n: number }>('SELECT total_changes() AS n')?.n ?? 0;
  const save = (): number => {
    const before = changes();
    const row = getSession(db, 'S-2');
    row.message_count++;
    saveSession(db, row);
    return changes() - before;
  };
  expect([save(), save(), save()]).toEqual([2, 1, 1]);
  expect(getSession(db, 'S-2').grown).toBe(1);
  db.close();
});

test('where a filter matches a few sessions, no others are looked at', () => {
  // Of these 750 have agent a, a handful are rare, have a fax or this parent; all other filters match thousands.
  const { db } = make(3000);
  const sorts = (['messages', 'tokens'] as const).flatMap((sort) => [
    [{ sort, agentId: 'a' }, 'sessions_recent_by_agent (agent_id=?)'] as const,
    [{ sort, agentId: 'a', status: 'any' }, 'sessions_recent_by_agent (agent_id=?)'] as const,
    [{ sort, agentId: 'a', channel: 'tg', kind: 'direct' }, 'sessions_recent_by_agent (agent_id=?)'] as const,
    [{ sort, agentId: 'b', channel: 'fax' }, 'sessions_by_channel (channel=?)'] as const,
  ]);
  const plans: readonly (readonly [ListQuery, string])[] = [
    ...sorts,
    [{ agentId: 'a', kind: 'rare', channel: 'tg' }, 'sessions_by_kind (kind=?)'],
    [{ agentId: 'a', parentId: 'S-0', channel: 'tg' }, 'sessions_by_parent (parent_id=?)'],
  ];
  const asked: string[] = [];
  const rows = db.rows.bind(db);
  db.rows = <T>(text: string, ...values: SQLInputValue[]): T[] => {
    asked.push(...rows<{ detail: string }>(`EXPLAIN QUERY PLAN ${text}`, ...values).map((one) => one.detail));
    return rows<T>(text, ...values);
  };
  for (const [query, index] of plans) {
    asked.length = 0;
    list(db, query);
    expect(asked, JSON.stringify(query)).toEqual([
      `SEARCH sessions USING INDEX ${index}`,
      'USE TEMP B-TREE FOR ORDER BY',
    ]);
  }
  db.close();
});

test('the newest of 100,000 sessions are listed like those of 1,000, also by filters that match little', async () => {
  const [few, many] = [make(1000), make(100_000)];
  const queries: ListQuery[] = [
    {},
    { agentId: 'a' },
    { status: 'any' },
    { kind: 'rare' },
    { channel: 'fax' },
    { parentId: 'S-0' },
    { text: 'talk' },
    { order: 'asc' },
    { sort: 'messages' },
    { sort: 'messages', order: 'asc' },
    { sort: 'tokens' },
    { sort: 'tokens', status: 'any', agentId: 'a' },
  ];
  for (const query of queries) {
    const page = ({ db }: typeof few) => list(db, { ...query, limit: 50 });
    // The goal is 1.5; a busy machine gets ten times that, and a page of fifty takes longer than one of two.
    const isAlike = (ofMany: number, ofFew: number): boolean => ofMany < ofFew * 15;
    const best = await shortest(
      () => page(many),
      () => page(few),
      isAlike,
    );
    expect(best, JSON.stringify(query)).toSatisfy((both) => isAlike(...(both as typeof best)));
  }
  few.db.close();
  many.db.close();
});
