import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { LocalBackend } from '../../src/cli/backend/local-backend.ts';
import { search } from '../../src/cli/commands/search.ts';
import { openStore } from '../../src/config/open.ts';
import { reprise } from '../support/processes/command-line.ts';
import { takenIn, writeSealedSession } from '../support/store/sealed-home.ts';

const timeout = 60_000;
/** More lines than doctor accepts without an index. */
const MESSAGES = 10_001;

let home = '';
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'reprise-gap-'));
  writeSealedSession(home, { id: 'imported', messages: MESSAGES, bytes: 400, say: (n) => `fox ${n}` });
  // Closed before the index is begun, as an import is.
  await using store = await openStore({ home, durability: 'os' });
  await takenIn(store);
}, timeout);
afterAll(() => rmSync(home, { recursive: true }));

interface SearchCheck {
  readonly name: string;
  readonly index?: { readonly done: number; readonly total: number };
}

test('a search that ends before everything is indexed prints how many lines are', { timeout }, async () => {
  const said: string[] = [];
  const spies = [
    vi.spyOn(process.stderr, 'write').mockImplementation((text) => said.push(String(text)) > 0),
    vi.spyOn(process.stdout, 'write').mockImplementation((text) => said.push(String(text)) > 0),
    // One second is enough for these lines, a millisecond is not.
    vi.spyOn(LocalBackend.prototype, 'search').mockImplementation(async function (this: LocalBackend, query) {
      return { ...(await this.store.search({ ...query, budgetMs: 1 })), hits: [], names: new Map() };
    }),
  ];
  try {
    await search('nobody', { home });
    await search('nobody', { home, json: true });
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
  const text = said.join('');
  expect(text).toMatch(
    /Results are incomplete: [\d,]+ of 10,\d{3} transcript lines are indexed\. .*--seconds 60/,
  );
  expect(text).toMatch(/"complete": false,[\s\S]*"index": \{\s*"done": \d+,\s*"total": 10\d{3}/);
});

test('doctor reports lines that are not indexed until they are', { timeout }, () => {
  rmSync(join(home, 'search.db'), { force: true });
  const behind = reprise(['doctor', '--home', home, '--json']);
  const { data } = JSON.parse(behind.stdout) as { data: readonly SearchCheck[] };
  const check = data.find(({ name }) => name === 'search');
  expect([behind.status, check]).toEqual([
    1,
    expect.objectContaining({
      ok: false,
      index: { done: 0, total: expect.any(Number) },
      detail: expect.stringMatching(/^0 of 10,\d{3} transcript lines are indexed, .*can miss messages/),
      next: expect.stringContaining('reprise doctor --rebuild-search'),
    }),
  ]);
  expect(check?.index?.total).toBeGreaterThan(MESSAGES);
  const rebuilt = reprise(['doctor', '--home', home, '--rebuild-search']);
  expect(rebuilt.stdout).toMatch(/ok {3}search: (10,\d{3}) of \1 transcript lines are indexed/);
  expect(rebuilt.status).toBe(0);
});
