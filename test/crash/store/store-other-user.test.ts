import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { chmodSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { startDriver } from '../../../testing/crash/driver-process.ts';
import { OPEN_STORE } from '../../support/processes/bundled-program.ts';
import { exitOf } from '../../support/processes/exit-of.ts';
import { must, SESSION, says, succeeds, TestHome, told } from '../../support/store/store-faults.ts';

const NOBODY = '65534';
const AS_NOBODY = ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'];

/** Tries to get the lease all the time, and says when it does or what else happens. */
const CONTENDER = `
import { openStore } from ${JSON.stringify(OPEN_STORE)};
const store = await openStore({ kind: 'jsonl', home: process.argv[1] });
for (let tries = 1; ; tries++) {
  try {
    const { epoch } = await store.lease('s', { waitMs: 0 });
    console.log('got it, epoch ' + epoch);
    process.exit(0);
  } catch (error) {
    if (error.code !== 'LEASE_HELD') { console.log('failed: ' + error.code + ' ' + error.message); process.exit(1); }
    if (tries % 20 === 0) console.log('held ' + tries);
  }
  await new Promise((resolve) => setTimeout(resolve, 20));
}
`;

const probe = `await import(${JSON.stringify(OPEN_STORE)})`;
const cannot =
  process.getuid?.() !== 0
    ? 'needs root'
    : !succeeds('setpriv', '--version')
      ? 'needs setpriv'
      : spawnSync(AS_NOBODY[0] ?? '', [
            ...AS_NOBODY.slice(1),
            process.execPath,
            '--input-type=module',
            '-e',
            probe,
          ]).status !== 0
        ? 'nobody may not read these sources'
        : undefined;
const HIDE = 'mount -t proc -o hidepid=2 proc /proc && exec "$@"';
const noHiding =
  cannot ?? (succeeds('unshare', '-m', 'sh', '-c', HIDE, 'sh', 'true') ? undefined : 'needs unshare -m');

interface Contender extends AsyncDisposable {
  readonly child: ChildProcess;
}

function contend(home: string, prefix: readonly string[]): Contender {
  const [command = '', ...args] = [...prefix, ...AS_NOBODY, process.execPath, '--input-type=module', '-e'];
  const child = spawn(command, [...args, CONTENDER, home], { stdio: ['ignore', 'pipe', 'inherit'] });
  const end = async (): Promise<void> => {
    child.kill('SIGKILL');
    await exitOf(child);
  };
  return { child, [Symbol.asyncDispose]: end };
}

describe.each([
  ['by permission', [], cannot],
  ['by a hidden /proc', ['unshare', '-m', 'sh', '-c', HIDE, 'sh'], noHiding],
] as const)('T35 a holder that is another user’s, %s', (_how, prefix, why) => {
  test.skipIf(why !== undefined)(
    `is not taken for dead while it lives, and is when it is gone${why ? ` (skipped: ${why})` : ''}`,
    async () => {
      using at = new TestHome();
      await using holder = await startDriver(at.options('jsonl'));
      await must(holder, SESSION);
      const { epoch } = await must(holder, { op: 'lease', id: 's', ttlMs: 60_000 });
      chmodSync(at.root, 0o711);
      expect(succeeds('chgrp', '-R', NOBODY, at.home) && succeeds('chmod', '-R', 'g+rwX', at.home)).toBe(
        true,
      );
      await using contender = contend(at.home, prefix);
      await says(contender.child, 'held 40');
      await must(holder, { op: 'renew', id: 's' });
      const began = performance.now();
      holder.kill();
      expect(await says(contender.child, 'got it')).toContain(`got it, epoch ${Number(epoch) + 1}`);
      told(
        `T35 ${prefix.length > 0 ? 'hidden /proc' : 'EPERM'}: free after ${Math.round(performance.now() - began)} ms`,
      );
    },
  );
});
