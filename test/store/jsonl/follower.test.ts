import { appendFileSync, readFileSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { BlobFiles } from '../../../src/store/jsonl/blob-files.ts';
import { Follower } from '../../../src/store/jsonl/follower.ts';
import { TranscriptFiles } from '../../../src/store/jsonl/transcript-files.ts';
import { createClock } from '../../../src/store/shared/clock.ts';
import { currentHolder } from '../../../src/store/shared/holder.ts';
import { openControl } from '../../../src/store/sqlite/control-file.ts';
import { fileSource } from '../../../src/store/sqlite/read/lines.ts';
import type { BatchContext } from '../../../src/store/sqlite/write/batch.ts';
import { Erasure } from '../../../src/store/sqlite/write/erasure.ts';
import { RowCache } from '../../../src/store/sqlite/write/row-cache.ts';
import { Writer } from '../../../src/store/sqlite/write/writer.ts';
import { JsonlHome, say } from '../../support/store/jsonl-home.ts';

/** Files that another tool touches while they are synced. */
class TouchedFiles extends TranscriptFiles {
  touch: () => void = () => undefined;

  override isInPlace(path: string): boolean {
    this.touch();
    this.touch = () => undefined;
    return super.isInPlace(path);
  }
}

/** A line is committed and followed, then synced while the file is touched; and once more by the next sweep. */
function writeAndSync(home: string, touch: () => void): void {
  const { db } = openControl({ path: join(home, 'control.db'), home, durability: 'os' });
  const files = new TouchedFiles(home);
  const context: BatchContext = {
    db,
    self: currentHolder('test'),
    now: createClock(undefined),
    source: fileSource(db, files),
    rows: new RowCache(db),
    blobs: new BlobFiles(files),
    space: undefined,
    obstacle: () => undefined,
  };
  const follower = new Follower(context, files);
  const path = join(home, 'control.db');
  const erasure = new Erasure({ db, path, files, logFiles: undefined, sessionsJson: undefined });
  const writer = new Writer(context, { follower, erasure }, () => undefined);
  let isDone = false;
  writer.submit({
    op: 'append',
    args: { id: 's1', entries: [say('three')] },
    done: ({ ok }) => {
      isDone = ok;
    },
  });
  writer.finish();
  expect(isDone).toBe(true);
  files.touch = touch;
  for (let sweep = 0; sweep < 2; sweep++) {
    db.transaction(() => {
      follower.adoptLeftovers();
      follower.followAll();
      follower.sync();
    });
  }
  db.close();
}

test.each<[string, (file: string) => void]>([
  ['cut', (file) => truncateSync(file, readFileSync(file, 'utf8').trimEnd().lastIndexOf('\n') + 1)],
  [
    'added to',
    (file) =>
      appendFileSync(
        file,
        `${JSON.stringify({ ...say('four'), id: 'four', parentId: null, timestamp: '2026-01-01T00:00:00Z' })}\n`,
      ),
  ],
])('what was acknowledged is there when its file is %s while it is synced', async (what, touch) => {
  await using home = new JsonlHome();
  await home.open();
  await home.seed('s1', 'one', 'two');
  await home.close();
  writeAndSync(home.path, () => touch(home.file()));
  await home.open();
  expect(await home.texts()).toEqual(['one', 'two', 'three', ...(what === 'cut' ? [] : ['four'])]);
  expect(await home.store.verify()).toMatchObject({ status: 'clean' });
});
