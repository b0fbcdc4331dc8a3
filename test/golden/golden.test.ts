import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import type { StoreKind } from '../../src/index.ts';
import { freshDatabase } from '../support/postgres.ts';
import { record } from './record.ts';
import { contextScenarios } from './scenarios/context.ts';
import { failureScenarios } from './scenarios/failures.ts';
import { historyScenarios } from './scenarios/history.ts';
import { profileScenarios } from './scenarios/profiles.ts';
import { queueScenarios } from './scenarios/queue.ts';
import type { Scenario } from './scenarios/scenario.ts';
import { toolScenarios } from './scenarios/tools.ts';
import { fixIds, type Place, World } from './world.ts';

const FOLDER = join(import.meta.dirname, 'recorded');
const isWriting = process.env['REPRISE_GOLDEN'] === 'write';

const scenarios = [
  ...queueScenarios,
  ...toolScenarios,
  ...failureScenarios,
  ...contextScenarios,
  ...historyScenarios,
  ...profileScenarios,
].map((make) => ({ name: make().name, make }));

const folder = mkdtempSync(join(tmpdir(), 'reprise-golden-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function play({ options, script, play: run }: Scenario, place: Place): Promise<string> {
  const makeIdsRandom = fixIds();
  const world = new World(place, options);
  world.model.push(...script);
  await world.open();
  try {
    await run(world);
    await world.reprise.idle();
    return await record(world);
  } finally {
    await world.close();
    makeIdsRandom();
  }
}

function compare(name: string, text: string): void {
  expect(text, 'A golden file differs: see test/golden/README.md').toBe(readFileSync(fileOf(name), 'utf8'));
}

function fileOf(name: string): string {
  return join(FOLDER, `${name}.jsonl`);
}

describe.each(['jsonl', 'sqlite', 'memory'] as const)('every scenario on %s', (kind: StoreKind) => {
  test.each(scenarios)('$name', async ({ name, make }) => {
    const text = await play(make(), { kind, home: mkdtempSync(join(folder, `${kind}-`)) });
    if (isWriting && kind === 'jsonl') writeFileSync(fileOf(name), text);
    compare(name, text);
  });
});

describe('every scenario on postgres', { tags: 'long' }, () => {
  test.each(scenarios)('$name', async ({ name, make }) => {
    await using database = await freshDatabase();
    compare(name, await play(make(), { kind: 'postgres', url: database.url }));
  });
});

test('every golden file belongs to a scenario', () => {
  expect(readdirSync(FOLDER).sort()).toEqual(scenarios.map(({ name }) => `${name}.jsonl`).sort());
});
