// @module-tag long
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { ConversationFleet } from '../support/processes/conversation-fleet.ts';

const FIRST = Number(process.env['REPRISE_CRASH_SEED'] ?? 1);
const SEEDS = Number(process.env['REPRISE_CRASH_SEEDS'] ?? 5);

let home = '';
let fleet: ConversationFleet;
beforeAll(async () => {
  fleet = await ConversationFleet.start(3);
}, 60_000);
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'reprise-conversations-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));
afterAll(async () => {
  try {
    for (const exit of await fleet.stop()) expect(exit).toMatchObject({ code: 0, stderr: '' });
  } finally {
    await fleet[Symbol.asyncDispose]();
  }
}, 60_000);

const seeds = Array.from({ length: SEEDS }, (_, i) => FIRST + i);
test.for(seeds)(
  'three processes under kill -9 answer what people say once, in order, each in its own session (seed %i)',
  { timeout: 240_000 },
  async (seed) => {
    const run = { seed, messages: 60, kills: 3, conversations: 12 };
    const { findings, kills } = await fleet.run({ store: 'jsonl', home }, run);
    expect(findings).toEqual([]);
    expect(kills).toBeGreaterThan(0);
  },
);
