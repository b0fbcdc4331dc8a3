import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openReprise } from '../../../src/config/open-reprise.ts';
import type { Reprise } from '../../../src/engine/reprise.ts';
import type { TurnStream } from '../../../src/engine/turn/turn-stream.ts';
import { createRandom } from '../../../testing/crash/random.ts';
import { entriesOf } from '../../support/engine/engine.ts';
import { notes } from '../../support/engine/turn-judge.ts';
import { createPlannedModel, plannedTools } from '../../support/engine/turn-model.ts';

interface Said {
  readonly content: unknown;
}

let home = '';
const rejections: unknown[] = [];
const onRejection = (reason: unknown): void => void rejections.push(reason);

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'reprise-stress-'));
  rejections.length = 0;
  process.on('unhandledRejection', onRejection);
});
afterEach(async () => {
  // An unhandled promise is reported after the microtasks of its tick.
  await new Promise((resolve) => setImmediate(resolve));
  process.off('unhandledRejection', onRejection);
  rmSync(home, { recursive: true, force: true });
  expect(rejections).toEqual([]);
});

const open = (): Promise<Reprise> =>
  openReprise({
    home,
    model: createPlannedModel(home),
    tools: plannedTools(home),
    durability: 'os',
    session: { queue: { mode: 'queue' } },
  });

async function endsOf(stream: TurnStream): Promise<string[]> {
  const ends: string[] = [];
  for await (const event of stream) {
    if (event.type === 'done') ends.push('done');
    if (event.type === 'error') ends.push(event.code);
  }
  const result = await stream.result.then(
    () => 'done',
    ({ code }: { code: string }) => code,
  );
  expect(ends).toEqual([result]);
  return ends;
}

describe('eight sessions with five senders each, some of whom cancel their messages', () => {
  test('all end once, in order, and the engine comes to rest', async () => {
    const random = createRandom(5);
    const reprise = await open();
    const sessions = await Promise.all(
      Array.from({ length: 8 }, (_, i) => reprise.session(`agent:main:session:s${i}`)),
    );
    const sends = sessions.flatMap((session, s) =>
      Array.from({ length: 5 }, async (_, i) => {
        const stop = new AbortController();
        const stream = session.send(`s${s}m${i} | safe unsafe | safe`, { signal: stop.signal });
        if (random.chance(0.4)) setTimeout(() => stop.abort(), random.skewed(1, 1500));
        return { stream, ends: await endsOf(stream) };
      }),
    );
    const compactions = sessions.map((session) => session.compact());
    const ended = await Promise.all(sends);
    expect(await Promise.all(compactions)).toEqual(sessions.map(() => null));
    const counts = { done: 0, ABORTED: 0 };
    for (const { stream, ends } of ended) {
      const [end] = ends as ['done' | 'ABORTED'];
      counts[end]++;
      const { status } = await reprise.inbox((await stream.accepted).inboxId);
      expect(status).toBe(end === 'done' ? 'done' : 'cancelled');
    }
    console.log(`${ended.length} messages: ${counts.done} done, ${counts.ABORTED} stopped`);
    expect(counts.done + counts.ABORTED).toBe(40);
    expect(counts.ABORTED).toBeGreaterThan(0);
    await reprise.idle();
    expect(await reprise.store.inbox.pending()).toEqual([]);
    expect(await reprise.store.leases()).toEqual([]);
    expect(notes(home, 'complaints')).toEqual([]);
    for (const session of sessions) {
      const report = await reprise.store.verify(session.id);
      expect(report.status).toBe('clean');
      // One order of turns: the first message was answered first, and no message ran inside another's turn.
      const texts = (await entriesOf(session)).map(({ message }) => (message as Said | undefined)?.content);
      const said = texts.filter((text) => typeof text === 'string');
      expect(said).toEqual([...said].sort());
    }
    await reprise[Symbol.asyncDispose]();
  });

  test('closing waits for running turns, and every message has an answer', async () => {
    const reprise = await open();
    const sessions = await Promise.all(
      Array.from({ length: 8 }, (_, i) => reprise.session(`agent:main:session:s${i}`)),
    );
    const streams = sessions.flatMap((session, s) =>
      Array.from({ length: 5 }, (_, i) => session.send(`s${s}m${i} | safe`)),
    );
    await Promise.all(streams.map(({ accepted }) => accepted));
    await reprise[Symbol.asyncDispose]();
    const results = await Promise.all(streams.map(({ result }) => result));
    expect(results.map(({ text }) => text)).toEqual(
      sessions.flatMap((_, s) => Array.from({ length: 5 }, (_, i) => `answer 1 to s${s}m${i}`)),
    );
    await using again = await open();
    expect(await again.store.inbox.pending()).toEqual([]);
  });

  test('closing at once, with messages on their way in, leaves each of them refused or to be run later', async () => {
    const reprise = await open();
    const session = await reprise.session('agent:main:main');
    const stop = new AbortController();
    const streams = Array.from({ length: 5 }, (_, i) => session.send(`m${i}`, { signal: stop.signal }));
    const closing = reprise[Symbol.asyncDispose]();
    const late = session.send('late');
    stop.abort();
    const settled = await Promise.allSettled([...streams, late].map(({ result }) => result));
    await closing;
    expect(settled.at(-1)).toMatchObject({ status: 'rejected', reason: { code: 'STORE_FAILED' } });
    await using again = await open();
    await again.idle();
    expect(await again.store.inbox.pending()).toEqual([]);
    const said = JSON.stringify((await again.store.read(session.id)).entries);
    for (const [i, stream] of streams.entries()) {
      const receipt = await stream.accepted.catch(() => undefined);
      const times = said.split(`"content":"m${i}"`).length - 1;
      if (receipt === undefined) expect(times).toBe(0);
      else expect(times).toBeLessThanOrEqual(1);
    }
  });
});
