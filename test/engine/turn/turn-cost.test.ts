import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, afterEach, expect, test, vi } from 'vitest';
import { openReprise } from '../../../src/config/open-reprise.ts';
import { ThreadClient } from '../../../src/store/sqlite/threads/thread-client.ts';

const DATABASES = { jsonl: 'control.db', sqlite: 'store.db' } as const;
/** What the store does by itself once a second. */
const SWEEP = 'pending {}';

const homes: string[] = [];
afterEach(() => vi.restoreAllMocks());
afterAll(() => {
  for (const home of homes) rmSync(home, { recursive: true, force: true });
});

test.each(['jsonl', 'sqlite'] as const)(
  'a plain turn on %s costs so many round trips and commits, and reads nothing twice',
  async (store) => {
    const home = mkdtempSync(join(tmpdir(), 'reprise-turn-cost-'));
    homes.push(home);
    const asked: string[] = [];
    const { call } = ThreadClient.prototype;
    vi.spyOn(ThreadClient.prototype, 'call').mockImplementation(function (this: ThreadClient, op, args) {
      const line = op === 'pending' ? `pending ${JSON.stringify(args)}` : op;
      if (line !== SWEEP) asked.push(op);
      return call.call(this, op, args) as never;
    });
    await using reprise = await openReprise({ home, store });
    const session = await reprise.session('agent:main:main');
    const turn = async (): Promise<void> => {
      await session.send('hello').result;
      // The lease is released after the answer was reported.
      await vi.waitFor(async () => expect(await reprise.store.leases()).toEqual([]));
    };
    await turn();
    await reprise.idle();
    using db = new DatabaseSync(join(home, DATABASES[store]), { readOnly: true });
    const commits = (): number => {
      const sum = db.prepare('SELECT sum(number) AS n FROM commits').get() as { n: number };
      return sum.n;
    };
    const before = commits();
    asked.length = 0;
    await turn();
    const expected = ['receive', 'begin', 'tail', 'end'];
    expect(asked.filter((op) => op !== 'leases')).toEqual(expected);
    expect(commits() - before).toBe(3);
  },
);
