// @module-tag long
import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { openStore } from '../../../src/config/open.ts';
import type { Store } from '../../../src/store/port/store.ts';
import { startDriver } from '../../../testing/crash/driver-process.ts';
import { must, TestHome, told } from '../../support/store/store-faults.ts';

const user = (content: string): { type: string; message: object } => ({
  type: 'message',
  message: { role: 'user', content },
});

/**
 * How often each caller of the busy process may have been answered while one message of the other waits. Turns, not
 * milliseconds: on a machine that others use too both are slow together.
 */
const P99_TURNS = 40;

interface Load {
  readonly count: number;
  stop(): Promise<void>;
}

/** So many callers that a queue is never empty. */
function saturate(store: Store, id: string, callers: number): Load {
  const entry = user('x'.repeat(1500));
  let count = 0;
  let stopping = false;
  const call = async (): Promise<void> => {
    for (; !stopping; count++) await store.append(id, [entry]);
  };
  const all = Promise.all(Array.from({ length: callers }, call));
  return {
    get count() {
      return count;
    },
    async stop() {
      stopping = true;
      await all;
    },
  };
}

test.each([
  ['jsonl', 'disk', 64],
  ['jsonl', 'os', 1000],
  ['sqlite', 'disk', 1000],
] as const)(
  'T30b %s, durability %s, %i callers: beside a process that never rests, every message of another gets in',
  async (kind, durability, callers) => {
    using at = new TestHome();
    await using store = await openStore({ kind, home: at.home, durability });
    await using other = await startDriver({ ...at.options(kind), durability });
    const { id } = await store.create({ key: 'agent:main:busy' });
    const load = saturate(store, id, callers);
    const began = performance.now();
    const times: number[] = [];
    const turns: number[] = [];
    for (let n = 0; n < 500; n++) {
      const asked = performance.now();
      const before = load.count;
      // Throws at the first refusal.
      await must(other, { op: 'put', key: 'agent:main:inbox', body: { n }, idempotencyKey: randomUUID() });
      times.push(performance.now() - asked);
      turns.push((load.count - before) / callers);
    }
    const perSecond = Math.round((load.count * 1000) / (performance.now() - began));
    await load.stop();
    for (const all of [times, turns]) all.sort((a, b) => a - b);
    const [p50 = 0, p99 = 0, worst = 0] = [times[250], times[495], times.at(-1)];
    const [p99Turns = 0, worstTurns = 0] = [turns[495], turns.at(-1)];
    told(
      `T30b ${kind} ${durability}: 500 puts, p50 ${p50.toFixed(1)}, p99 ${p99.toFixed(1)}, worst ${worst.toFixed(1)} ms ` +
        `(p99 ${p99Turns.toFixed(1)}, worst ${worstTurns.toFixed(1)} turns) beside ${perSecond} appends/s of ${callers} callers`,
    );
    expect(p99Turns).toBeLessThan(P99_TURNS);
    // The other has not been kept waiting either.
    expect(load.count).toBeGreaterThan(callers);
  },
  180_000,
);
