import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Need } from '../../../../src/store/jsonl/recovery/needs.ts';
import { Rebuild } from '../../../../src/store/jsonl/recovery/rebuild.ts';
import { TranscriptFiles } from '../../../../src/store/jsonl/transcript-files.ts';
import { openControl } from '../../../../src/store/sqlite/control-file.ts';
import { writeMany, writeTranscript } from '../../../support/engine/transcripts.ts';

const COUNT = 1500;

/** A home without its index, which is read in this very thread: nothing happens before the test has asked. */
function rebuildHome(prepare: (home: string) => void = () => undefined): Rebuild {
  const home = mkdtempSync(join(tmpdir(), 'reprise-rebuild-'));
  writeMany(home, COUNT);
  prepare(home);
  const { db } = openControl({ path: join(home, 'control.db'), home, durability: 'os' });
  const files = new TranscriptFiles(home);
  const rebuild = new Rebuild({
    ...{ db, home, files, durability: 'os' },
    onOver: () => undefined,
    onFailure: (error) => {
      throw error;
    },
  });
  onTestFinished(() => {
    rebuild.stop();
    files.close();
    db.close();
    rmSync(home, { recursive: true, force: true });
  });
  return rebuild;
}

const ready = (rebuild: Rebuild, need: Need): Promise<void> =>
  new Promise((resolve, reject) =>
    rebuild.whenReady(need, (error) => (error === undefined ? resolve() : reject(error))),
  );

test.each<[string, Need]>([
  ['a session', { id: 'n1499' }],
  ['a key', { key: 'agent:main:tg:direct:n1499' }],
])('T17 %s that is asked for is known while nearly all others wait to be read', async (_what, need) => {
  const rebuild = rebuildHome();
  await ready(rebuild, need);
  const { done, total } = rebuild.progress() ?? { done: COUNT, total: 0 };
  expect(total).toBe(COUNT);
  expect(done).toBeLessThan(COUNT - 50);
});

test('T17 who needs a short transcript does not wait for a long one that was asked for before', async () => {
  const texts = Array.from({ length: 30 }, (_, i) => `${i}`.repeat(500_000));
  const rebuild = rebuildHome((home) =>
    writeTranscript(home, { id: 'long', key: 'agent:main:tg:direct:long', texts }),
  );
  const order: string[] = [];
  const ids = ['long', ...Array.from({ length: 6 }, (_, i) => `n000${i}`)];
  await Promise.all(ids.map(async (id) => order.push(await ready(rebuild, { id }).then(() => id))));
  expect(order.at(-1)).toBe('long');
});
