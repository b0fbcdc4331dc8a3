import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import type { StoreKind } from '../../src/exports/store.ts';
import { freshDatabase } from '../support/postgres/postgres.ts';
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

const SCENARIOS = {
  queue: queueScenarios,
  tools: toolScenarios,
  failures: failureScenarios,
  context: contextScenarios,
  history: historyScenarios,
  profiles: profileScenarios,
};
const scenarios = Object.entries(SCENARIOS).flatMap(([topic, made]) =>
  made.map((make) => ({ name: make().name, file: `${topic}/${make().name}.jsonl`, make })),
);

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

function compare(file: string, text: string): void {
  expect(text, 'A golden file differs: see test/golden/README.md').toBe(
    readFileSync(join(FOLDER, file), 'utf8'),
  );
}

describe.each(['jsonl', 'sqlite', 'memory'] as const)('every scenario on %s', (kind: StoreKind) => {
  test.each(scenarios)('$name', async ({ file, make }) => {
    const text = await play(make(), { kind, home: mkdtempSync(join(folder, `${kind}-`)) });
    if (isWriting && kind === 'jsonl') writeFileSync(join(FOLDER, file), text);
    compare(file, text);
  });
});

describe('every scenario on postgres', { tags: 'long' }, () => {
  test.each(scenarios)('$name', async ({ file, make }) => {
    await using database = await freshDatabase();
    compare(file, await play(make(), { kind: 'postgres', url: database.url }));
  });
});

test('every golden file belongs to a scenario', () => {
  const files = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.jsonl'),
  );
  expect(files.sort()).toEqual(scenarios.map(({ file }) => file).sort());
});
