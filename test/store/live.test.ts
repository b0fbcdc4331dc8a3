import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openStore } from '../../src/config/open.ts';

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'reprise-live-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

test.each(['jsonl', 'sqlite'] as const)(
  '%s: stores on one home in one process hear each other, whatever name the home has',
  async (kind) => {
    const home = folder();
    const link = join(folder(), 'link');
    symlinkSync(home, link);
    await using one = await openStore({ kind, home, durability: 'os' });
    await using elsewhere = await openStore({ kind, home: folder(), durability: 'os' });
    const heard = one.live('s', { signal: new AbortController().signal })[Symbol.asyncIterator]();
    {
      await using two = await openStore({ kind, home: link, durability: 'os' });
      await elsewhere.publish('s', { from: 'elsewhere' });
      await two.publish('s', { from: 'two' });
      expect((await heard.next()).value).toEqual({ event: { from: 'two' }, missed: 0 });
    }
    // A store that closes removes no listeners of other stores.
    await one.publish('s', { from: 'one' });
    expect((await heard.next()).value).toEqual({ event: { from: 'one' }, missed: 0 });
  },
);

test('memory: two stores are two worlds', async () => {
  await using one = await openStore({ kind: 'memory' });
  await using two = await openStore({ kind: 'memory' });
  const heard = one.live('s', { signal: new AbortController().signal })[Symbol.asyncIterator]();
  await two.publish('s', { from: 'two' });
  await one.publish('s', { from: 'one' });
  expect((await heard.next()).value).toEqual({ event: { from: 'one' }, missed: 0 });
});

test('two readers of one listener share its events, and neither hangs', async () => {
  await using store = await openStore({ kind: 'memory' });
  const heard = store.live('s', { signal: new AbortController().signal })[Symbol.asyncIterator]();
  const both = [heard.next(), heard.next()];
  await store.publish('s', { n: 1 });
  await store.publish('s', { n: 2 });
  expect((await Promise.all(both)).map(({ value }) => value?.event)).toEqual([{ n: 1 }, { n: 2 }]);
});
