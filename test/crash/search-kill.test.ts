// @module-tag long
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openStore } from '../../src/config/open.ts';
import { startDriver } from '../../testing/crash/driver-process.ts';
import { createRandom } from '../../testing/crash/random.ts';
import type { PlainSearchable } from '../support/plain-store/plain-search.ts';
import { takenIn } from '../support/store/sealed-home.ts';
import {
  expectSame,
  makeSearchedHome,
  openSearcher,
  QUERIES,
  readEverything,
  removeHome,
} from '../support/store/searched-home.ts';

const ROUNDS = Number(process.env['REPRISE_CRASH_ROUNDS'] ?? 4);
const [SESSIONS, MESSAGES] = [12, 300];
/** With the headers. */
const LINES = SESSIONS * (MESSAGES + 1);

let home = '';
let all: PlainSearchable[] = [];
beforeAll(async () => {
  home = makeSearchedHome({ sessions: SESSIONS, messages: MESSAGES });
  await using store = await openStore({ home, durability: 'os' });
  await takenIn(store);
  all = await readEverything(store);
}, 60_000);
afterAll(() => removeHome(home));

test(
  'I-66 a process killed while it indexes leaves a correct index, and another process continues it',
  async () => {
    const random = createRandom(66);
    const indexed: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      // The last one may have been killed too late to leave anything to do.
      if (linesIn() === LINES) discardIndex();
      const before = linesIn();
      const driver = await startDriver({ store: 'jsonl', home, durability: 'os' });
      // Answered at once; the thread that was started for it continues with the index.
      await driver.send({ op: 'search', text: 'foxes' });
      while (linesIn() === before) await new Promise((resolve) => setImmediate(resolve));
      await new Promise((resolve) => setTimeout(resolve, random.integer(0, 40)));
      driver.kill('SIGKILL');
      await driver.exited;
      indexed.push(linesIn());
      const searcher = openSearcher(home);
      await expectSame(searcher, all, QUERIES.slice(0, 4));
      // Now and then the rest is done here; otherwise the next process finds it half done.
      if (round % 2 === 1) {
        expect(searcher.index()).toBe(true);
        await expectSame(searcher, all, QUERIES.slice(0, 4));
        searcher.file.discard();
      }
      searcher.close();
    }
    console.log(`lines in the index after each kill: ${indexed.join(', ')} of ${LINES}`);
  },
  60_000 + ROUNDS * 20_000,
);

function discardIndex(): void {
  const searcher = openSearcher(home);
  searcher.file.discard();
  searcher.close();
}

/** While another process creates and replaces it. */
function linesIn(): number {
  if (!existsSync(join(home, 'search.db'))) return 0;
  try {
    const db = new DatabaseSync(join(home, 'search.db'), { readOnly: true });
    try {
      return Number(db.prepare('SELECT coalesce(sum(seq), 0) AS n FROM sessions').get()?.['n']);
    } finally {
      db.close();
    }
  } catch {
    // Just being made.
    return 0;
  }
}
