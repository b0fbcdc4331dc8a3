// @module-tag long
import { expect, test } from 'vitest';
import type { StreamEvent } from '../../../../src/client/index.ts';
import { Cluster } from '../../../support/postgres/cluster.ts';
import { freshDatabase } from '../../../support/postgres/postgres.ts';
import { textOf } from '../../../support/server/server.ts';

const PEOPLE = 2;
const LEAST_MESSAGES = 6;

test('a rolling restart under load loses nothing: each message is answered once, each stream ends once', {
  timeout: 180_000,
}, async () => {
  await using database = await freshDatabase();
  await using cluster = new Cluster({ url: database.url, model: 'offline' });
  await Promise.all([cluster.start(), cluster.start()]);
  const client = cluster.client();
  let isOver = false;
  const said = await Promise.all([
    ...Array.from({ length: PEOPLE }, async (_, person) => {
      const sessionId = `s${person}`;
      let count = 0;
      // As long as servers come and go, and then a little.
      for (; !isOver || count < LEAST_MESSAGES; count++) {
        const events: StreamEvent[] = [];
        const message = `message ${count} of ${person}`;
        for await (const event of client.chat('main', { message, sessionId })) events.push(event);
        const ends = events.filter(({ type }) => type === 'done' || type === 'error');
        expect(ends, message).toEqual([expect.objectContaining({ type: 'done', text: textOf(events) })]);
        expect(textOf(events)).toContain(`You said: "${message}"`);
      }
      return { sessionId, count };
    }),
    (async () => {
      for (const node of [...cluster.nodes]) {
        await cluster.start();
        // In order: what runs is ended, what waits is left to the others.
        expect(await cluster.end(node, 'SIGTERM')).toBe(0);
      }
      isOver = true;
      return undefined;
    })(),
  ]);
  for (const { sessionId, count } of said.filter((one) => one !== undefined)) {
    const { data } = await client.session(sessionId).history({ limit: 1000 });
    const texts = data.filter(({ role }) => role === 'user').map(({ text }) => text);
    const person = sessionId.slice(1);
    expect(texts).toEqual(Array.from({ length: count }, (_, i) => `message ${i} of ${person}`));
    expect(data.filter(({ role }) => role === 'assistant')).toHaveLength(count);
  }
});
