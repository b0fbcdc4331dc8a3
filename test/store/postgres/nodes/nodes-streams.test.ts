// @module-tag long
import { describe, expect, test } from 'vitest';
import type { StreamEvent } from '../../../../src/protocol/events.ts';
import { Cluster, type ClusterNode } from '../../../support/postgres/cluster.ts';
import { freshDatabase } from '../../../support/postgres/postgres.ts';
import { query } from '../../../support/postgres/postgres-suite.ts';
import { openPacedProvider } from '../../../support/server/paced-provider.ts';
import { allFrames, frames, type RawFrame, textOf } from '../../../support/server/server.ts';

const isDelta = ({ event }: RawFrame): boolean => event.type === 'text_delta';
const told = (all: readonly RawFrame[]): RawFrame[] =>
  all.filter(({ event: { type } }) => !['session', 'queued', 'idle'].includes(type));
const countOf = (type: StreamEvent['type'], all: readonly RawFrame[]): number =>
  all.filter(({ event }) => event.type === type).length;
const answerTo = (message: string, words: number): string =>
  Array.from({ length: words }, (_, i) => `${message}${i} `).join('');

function resume(node: ClusterNode, id?: string, inboxId?: string): Promise<Response> {
  const headers = id === undefined ? {} : { 'last-event-id': id };
  const of = inboxId === undefined ? '' : `&inboxId=${inboxId}`;
  return node.request(`/api/agents/main/chat/stream?sessionId=s${of}`, { headers });
}

async function readSome(
  response: Response | Promise<Response>,
  isEnough: (all: readonly RawFrame[]) => boolean,
): Promise<RawFrame[]> {
  const all: RawFrame[] = [];
  for await (const frame of frames(await response)) {
    all.push(frame);
    if (isEnough(all)) break;
  }
  return all;
}

const deltas =
  (count: number) =>
  (all: readonly RawFrame[]): boolean =>
    all.filter(isDelta).length >= count;

/** Servers whose answers come as the test lets them, one message after the other. */
function pacedCluster(database: { readonly url: string }, provider: { readonly url: string }): Cluster {
  return new Cluster({
    url: database.url,
    model: 'openai-compatible:paced',
    env: {
      REPRISE_MODELS_OPENAI_COMPATIBLE_BASE_URL: provider.url,
      REPRISE_SESSION_QUEUE: '{"mode":"followup"}',
    },
  });
}

describe('servers on one PostgreSQL', { timeout: 180_000 }, () => {
  test.each([
    ['told of news', ''],
    ['that look by the clock, as behind a transaction pooler', '?pooler=true'],
  ])(
    '%s: any accepts, one runs, and all stream the same events; a client resumes at another',
    async (_, how) => {
      await using database = await freshDatabase();
      await using provider = await openPacedProvider(60);
      await using cluster = new Cluster({
        url: database.url + how,
        model: 'openai-compatible:paced',
        env: {
          REPRISE_MODELS_OPENAI_COMPATIBLE_BASE_URL: provider.url,
          REPRISE_SESSION_QUEUE: '{"mode":"followup"}',
        },
      });
      const [first, second] = await Promise.all([cluster.start(), cluster.start()]);
      // Each costs a second of a processor; three are needed once.
      const third = how === '' ? await cluster.start() : second;
      const here = await first.chat({ message: 'a', sessionId: 's' });
      provider.allow(20);
      const begun = await readSome(resume(second), deltas(20));
      const joined = await readSome(resume(third), deltas(20));
      expect(told(joined)).toEqual(told(begun));
      // Accepted by a server that does not run it, behind what runs.
      const queued = await third.chat({ message: 'b', sessionId: 's' });
      const rest = resume(third, begun.at(-1)?.id, inboxIdOf(begun));
      provider.allow(40);
      const all = told(await allFrames(here));
      expect(textOf(all.map(({ event }) => event))).toBe(answerTo('a', 60));
      expect([...told(begun), ...told(await allFrames(rest))]).toEqual(all);
      // The next one is heard where it was accepted as where it runs.
      const heard = await allFrames(queued);
      expect(heard.filter(isDelta)).toHaveLength(60);
      expect(textOf(heard.map(({ event }) => event))).toBe(answerTo('b', 60));
      const place = heard.findIndex(isDelta) + 10;
      const again = await allFrames(resume(second, heard[place]?.id, inboxIdOf(heard)));
      expect(told(again)).toEqual(told(heard.slice(place + 1)));
      expect(provider.asked).toEqual(['a', 'b']);
    },
  );

  test('one that is killed in a turn is replaced: its streams report what was kept, and its queue continues', async () => {
    await using database = await freshDatabase();
    await using provider = await openPacedProvider(10);
    await using cluster = pacedCluster(database, provider);
    const dies = await cluster.start();
    const begun = dies.chat({ message: 'a', sessionId: 's' });
    provider.allow(5);
    const had = await readSome(begun, deltas(5));
    // Not before the turn runs: either of two may run it, whichever accepted it.
    const stays = await cluster.start();
    const queued = await dies.chat({ message: 'b', sessionId: 's' });
    const queuedId = inboxIdOf(await readSome(queued, ({ length }) => length === 1));
    const listens = await resume(stays, undefined, inboxIdOf(had));
    const heard: RawFrame[] = [];
    let isKilled = false;
    for await (const frame of frames(listens)) {
      heard.push(frame);
      if (isKilled || heard.filter(isDelta).length < 5) continue;
      isKilled = true;
      await cluster.end(dies, 'SIGKILL');
      provider.allow(5);
    }
    expect(told(heard).slice(0, 6)).toEqual(told(had).slice(0, 6));
    expect(countOf('interrupted', heard)).toBe(1);
    expect(textOf(heard.map(({ event }) => event))).toBe(answerTo('a', 10));
    expect(countOf('done', heard)).toBe(1);
    // A client of the one that died resumes at the other.
    const gone = await allFrames(resume(stays, had.at(-1)?.id, inboxIdOf(had)));
    expect(textOf([...had, ...gone].map(({ event }) => event))).toBe(answerTo('a', 10));
    expect(countOf('done', [...had, ...gone])).toBe(1);
    const next = await allFrames(resume(stays, undefined, queuedId));
    expect(textOf(next.map(({ event }) => event))).toBe(answerTo('b', 10));
  });

  test('one on another machine that dies is replaced when the time of its lease is over, and not before', async () => {
    await using database = await freshDatabase();
    await using provider = await openPacedProvider(10);
    await using cluster = pacedCluster(database, provider);
    const dies = await cluster.start({
      NODE_OPTIONS: `--import ${new URL('../../../support/postgres/other-machine.ts', import.meta.url).href}`,
    });
    const begun = dies.chat({ message: 'a', sessionId: 's' });
    provider.allow(5);
    const had = await readSome(begun, deltas(5));
    const stays = await cluster.start();
    const queued = await dies.chat({ message: 'b', sessionId: 's' });
    const queuedId = inboxIdOf(await readSome(queued, ({ length }) => length === 1));
    await cluster.end(dies, 'SIGKILL');
    provider.allow(5);
    const lease = async (columns: string): Promise<Record<string, unknown>> =>
      (await query(database.url, `SELECT ${columns} FROM reprise.leases WHERE session_id = 's'`)).rows[0];
    // Whatever it had, it has it for the time of a lease at the most. Here it is shorter, and the rest is the same.
    expect(
      await lease(`holder::json->>'host' AS host, ttl_ms,
        expires_at BETWEEN clock_timestamp() AND clock_timestamp() + interval '15 seconds' AS runs`),
    ).toEqual({ host: 'elsewhere', ttl_ms: '15000', runs: true });
    const shorter = `UPDATE reprise.leases SET expires_at = clock_timestamp() + interval '2 seconds'
      WHERE session_id = 's' RETURNING holder, expires_at::text AS until`;
    const { holder, until } = (await query(database.url, shorter)).rows[0];
    let wasEarly = false;
    const isTaken = async (): Promise<boolean> => {
      const calls = provider.asked.length;
      // Its new holder may have released it by now.
      const sql = `SELECT (SELECT holder FROM reprise.leases WHERE session_id = 's') AS holder, clock_timestamp() >= '${until}' AS over`;
      const now = (await query(database.url, sql)).rows[0];
      const hasOther = now.holder !== holder;
      if (hasOther || calls > 1) wasEarly ||= !now.over;
      return hasOther;
    };
    await expect.poll(isTaken).toBe(true);
    // This node could not see that its process is gone.
    expect(wasEarly).toBe(false);
    const gone = await allFrames(resume(stays, had.at(-1)?.id, inboxIdOf(had)));
    expect(textOf([...had, ...gone].map(({ event }) => event))).toBe(answerTo('a', 10));
    expect(countOf('interrupted', gone)).toBe(1);
    expect(countOf('done', [...had, ...gone])).toBe(1);
    const next = await allFrames(resume(stays, undefined, queuedId));
    expect(textOf(next.map(({ event }) => event))).toBe(answerTo('b', 10));
    expect(provider.asked).toEqual(['a', 'a', 'b']);
  });
});

function inboxIdOf(all: readonly RawFrame[]): string {
  const [first] = all;
  return first?.event.type === 'session' ? (first.event.inboxId ?? '') : '';
}
