import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { JsonlHome } from '../../support/store/jsonl-home.ts';

/** Two sessions, of which the second's transcript stands where the first's should. */
async function mixedUp(home: JsonlHome, change: (line: string) => string): Promise<void> {
  await home.open();
  await home.seed('s1', 'first');
  await home.seed('s2', 'second');
  await home.close();
  writeFileSync(home.file('s1'), change(readFileSync(home.file('s2'), 'utf8')));
}

const unsealed = (text: string): string => text.replace(/,"seal":\{[^}]*\}/g, '');

test('a transcript under the name of another is damage, and a copy where the other is known no more', async () => {
  await using home = new JsonlHome();
  await mixedUp(home, (text) => text);
  const named = { session: 's1', kind: 'other-session', detail: expect.stringContaining('s2') };
  const { status, findings } = await (await home.open()).verify();
  expect([status, findings]).toEqual(['corrupt', expect.arrayContaining([expect.objectContaining(named)])]);
  expect(await (await home.rebuild()).verify()).toMatchObject({
    status: 'clean',
    findings: [{ ...named, kind: 'stray-copy' }],
  });
  expect(await home.store.verify('s2')).toMatchObject({ status: 'clean' });
});

test('a copy beside its transcript is reported and is not damage; alone it is', async () => {
  await using home = new JsonlHome();
  await home.open();
  await home.seed('s1', 'first');
  await home.close();
  copyFileSync(home.file('s1'), home.file('s1-bak'));
  const copy = { session: 's1-bak', detail: expect.stringContaining('s1') };
  expect(await (await home.reopen()).verify()).toMatchObject({
    status: 'clean',
    findings: [{ ...copy, kind: 'stray-copy' }],
  });
  await home.close();
  rmSync(home.file('s1'));
  expect(await (await home.rebuild()).verify()).toMatchObject({
    status: 'corrupt',
    findings: [{ ...copy, kind: 'other-session' }],
  });
});

test('an export that was put there is named as well, and what another tool named its own way is not', async () => {
  await using home = new JsonlHome();
  await mixedUp(home, unsealed);
  expect(readFileSync(home.file('s1'), 'utf8')).toContain('"agentId":"main"');
  const store = await home.rebuild();
  expect(await store.verify()).toMatchObject({
    status: 'clean',
    findings: [{ session: 's1', kind: 'stray-copy' }],
  });
  rmSync(home.file('s1'));
  const line = { type: 'session', version: 3, id: 'theirs', timestamp: '2026-01-01T00:00:00.000Z', cwd: '/' };
  writeFileSync(home.file('theirs-topic-7'), `${JSON.stringify(line)}\n`);
  copyFileSync(home.file('theirs-topic-7'), home.file('theirs'));
  expect(await (await home.rebuild()).verify()).toEqual({ status: 'clean', findings: [] });
});
