import { expect, test } from 'vitest';
import { openStore } from '../../../src/config/open.ts';
import type { Entry } from '../../../src/index.ts';
import type { EntryPage, NewEntry } from '../../../src/store/port/store.ts';
import { Connections, type Sql } from '../../../src/store/postgres/connection/connections.ts';
import { ServerTimeline } from '../../../src/store/postgres/connection/server-timeline.ts';
import { LineReader } from '../../../src/store/postgres/lines.ts';
import { parsePostgresUrl } from '../../../src/store/postgres/settings.ts';
import { freshDatabase } from '../../support/postgres/postgres.ts';
import { query } from '../../support/postgres/postgres-suite.ts';

const say = (content: string): NewEntry => ({ type: 'message', message: { role: 'user', content } });

function textsOf({ entries }: EntryPage): unknown[] {
  return entries.map(({ entry }) => ((entry as Entry)['message'] as { content: unknown }).content);
}

test('no reader can change what the next reader of a tail gets', async () => {
  await using database = await freshDatabase();
  await using store = await openStore({ kind: 'postgres', url: database.url });
  await store.create({ id: 's1', key: 'agent:main:main' });
  await store.append('s1', [say('one'), say('two')]);
  for (let look = 0; look < 2; look++) {
    const { entries } = await store.tail('s1');
    for (const stored of entries as readonly { entry: Entry }[]) {
      expect(Reflect.set(stored.entry['message'] as object, 'content', 'another')).toBe(false);
      expect(Reflect.set(stored, 'entry', {})).toBe(false);
    }
    (entries as unknown[]).length = 0;
  }
  expect(textsOf(await store.tail('s1'))).toEqual(['one', 'two']);
});

test('a tail that is read while the server loses lines is neither returned nor cached', async () => {
  await using database = await freshDatabase();
  await using store = await openStore({ kind: 'postgres', url: database.url });
  for (const [id, text] of [
    ['s1', 'lost'],
    ['s2', 'said anew'],
  ] as const) {
    await store.create({ id, key: `agent:main:${id}` });
    await store.append(id, [say('both have it'), say(text)]);
  }
  await using connections = new Connections(parsePostgresUrl({ url: database.url }));
  let isFailing = false;
  /** While the lines behind what is kept are on their way. */
  const failover = async (): Promise<void> => {
    await query(
      database.url,
      `UPDATE reprise.lines SET line = (SELECT line FROM reprise.lines WHERE session_id = 's2' AND seq = 3)
       WHERE session_id = 's1' AND seq = 3`,
    );
    timeline.note('000000FF');
  };
  const sql: Sql = {
    query: async <Row extends object>(text: string, values?: readonly unknown[]): Promise<Row[]> => {
      const rows = await connections.query<Row>(text, values);
      if (isFailing && text.includes('FROM reprise.lines')) {
        isFailing = false;
        await failover();
      }
      return rows;
    },
  };
  const timeline = new ServerTimeline();
  const reader = new LineReader(sql, { timeline, onDamage: async () => undefined });
  expect(textsOf(await reader.tail('s1', {}))).toEqual(['both have it', 'lost']);
  await store.append('s1', [say('later')]);
  isFailing = true;
  expect(textsOf(await reader.tail('s1', {}))).toEqual(['both have it', 'said anew', 'later']);
  expect(textsOf(await reader.tail('s1', {}))).toEqual(['both have it', 'said anew', 'later']);
});
