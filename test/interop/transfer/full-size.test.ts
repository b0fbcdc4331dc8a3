// @module-tag long
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { openStore } from '../../../src/config/open.ts';
import { takenIn, writeSealedSession } from '../../support/store/sealed-home.ts';

const FULL = process.env['REPRISE_FULL_SIZE'] === '1';
const script = fileURLToPath(new URL('../../support/processes/copy-memory.ts', import.meta.url));
const RECORD_BYTES = 2048;
const MB = 1024;

interface Measured {
  readonly migrate: string;
  readonly restore: string;
  readonly bytes: number;
  /** In KiB. */
  readonly maxRSS: number;
}

async function copyWith(messages: number): Promise<Measured> {
  const folder = mkdtempSync(join(tmpdir(), 'reprise-copy-size-'));
  try {
    const home = join(folder, 'source');
    writeSealedSession(home, { id: 'large', messages, bytes: RECORD_BYTES });
    {
      await using store = await openStore({ home });
      await takenIn(store);
    }
    const { stdout, stderr } = spawnSync(process.execPath, [script, folder], { encoding: 'utf8' });
    expect(stderr).toBe('');
    return JSON.parse(stdout) as Measured;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

test.skipIf(!FULL)(
  'copying a session of 200 MB takes hardly more memory than one of 10 MB',
  async () => {
    const small = await copyWith(5_000);
    const large = await copyWith(100_000);
    for (const { migrate, restore } of [small, large]) expect([migrate, restore]).toEqual(['done', 'done']);
    expect(large.bytes).toBeGreaterThan(200 * 1000 * 1000);
    expect(large.maxRSS - small.maxRSS).toBeLessThan(150 * MB);
  },
  600_000,
);
