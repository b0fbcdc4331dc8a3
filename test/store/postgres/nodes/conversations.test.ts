// @module-tag long
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openStore } from '../../../../src/config/open.ts';
import { type FreshDatabase, freshDatabase } from '../../../support/postgres/postgres.ts';
import { ConversationFleet } from '../../../support/processes/conversation-fleet.ts';

const FIRST = Number(process.env['REPRISE_CRASH_SEED'] ?? 1);
const SEEDS = Number(process.env['REPRISE_CRASH_SEEDS'] ?? 20);
/** `REPRISE_CRASH_SEED=7 REPRISE_CRASH_SEEDS=1` asks for the same messages, deliveries and deaths as seed 7 here. */
const RUN = { messages: 24, kills: 1, conversations: 8 };

let folder = '';
let fleet: ConversationFleet;
let template: FreshDatabase;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'reprise-conversations-'));
  fleet = await ConversationFleet.start(3, { compiled: join(folder, 'compiled') });
  template = await freshDatabase();
  await (await openStore({ kind: 'postgres', url: template.url }))[Symbol.asyncDispose]();
}, 60_000);
afterAll(async () => {
  try {
    for (const exit of await fleet.stop()) expect(exit).toMatchObject({ code: 0, stderr: '' });
  } finally {
    await fleet[Symbol.asyncDispose]();
    await template[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  }
}, 60_000);

const seeds = Array.from({ length: SEEDS }, (_, i) => FIRST + i);
test.for(seeds)(
  'three nodes on one database under kill -9 answer what people say once, in order, each in its own session (seed %i)',
  { timeout: 240_000 },
  async (seed) => {
    const home = mkdtempSync(join(folder, 'seed-'));
    await using database = await freshDatabase({ like: template });
    const { findings, kills } = await fleet.run(
      { store: 'postgres', home, url: database.url },
      { seed, ...RUN },
    );
    expect(findings).toEqual([]);
    expect(kills).toBe(RUN.kills);
  },
);
