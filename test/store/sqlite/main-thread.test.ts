import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';

/** Uses a store and reports what the main thread itself did meanwhile. */
const script = (kind: string, home: string, extra: string): string => `
  import fs from 'node:fs';
  import { syncBuiltinESMExports } from 'node:module';
  const { openStore } = await import('./src/config/open.ts');
  const options = { kind: ${JSON.stringify(kind)}, home: ${JSON.stringify(home)} };
  // Loading modules reads files on the main thread, once; using a store must not.
  await (await openStore(options))[Symbol.asyncDispose]();
  const calls = [];
  for (const name of Object.keys(fs)) {
    if (!name.endsWith('Sync') || typeof fs[name] !== 'function') continue;
    const original = fs[name];
    fs[name] = (...args) => { calls.push(name); return original(...args); };
  }
  syncBuiltinESMExports();
  const store = await openStore(options);
  await store.create({ id: 's1', key: 'agent:main:main' });
  await Promise.all(Array.from({ length: 50 }, () => store.append('s1', [{ type: 'message', message: { role: 'user', content: 'x' } }])));
  const lease = await store.lease('s1');
  await store.tail('s1'); await store.read('s1'); await store.list(); await store.search({ text: 'x' }); await store.verify();
  await lease.release();
  ${extra}
  await store[Symbol.asyncDispose]();
  console.log(JSON.stringify({ calls, sqlite: process.moduleLoadList.some((name) => /\\bsqlite$/.test(name)) }));
`;

function run(kind: string, extra = ''): unknown {
  const home = mkdtempSync(join(tmpdir(), 'reprise-thread-'));
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ['--input-type=module', '-e', script(kind, home, extra)],
    { encoding: 'utf8' },
  );
  rmSync(home, { recursive: true, force: true });
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout);
}

test.each(['jsonl', 'sqlite', 'memory'])(
  'P7 with the %s store the main thread makes no storage call',
  (kind) => {
    expect(run(kind)).toEqual({ calls: [], sqlite: false });
  },
);

test('a storage call on the main thread would be noticed', () => {
  expect(run('jsonl', "fs.statSync('.'); await import('node:sqlite');")).toEqual({
    calls: ['statSync'],
    sqlite: true,
  });
});
