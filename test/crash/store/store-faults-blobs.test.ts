// @module-tag long
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Answer, type DriverProcess, startDriver } from '../../../testing/crash/driver-process.ts';
import {
  ALL_WRITES,
  type FaultPlan,
  faultShimSupport,
  readFaultLog,
} from '../../../testing/crash/fault-shim.ts';
import {
  cannotMount,
  hasDied,
  mountTmpfs,
  must,
  SESSION,
  say,
  TestHome,
  told,
} from '../../support/store/store-faults.ts';

const { supported, reason } = faultShimSupport();
const noMount = cannotMount();

const image = (seed: number): Buffer => Buffer.alloc(100_000, `image ${seed} `);
const hashOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
const IMAGES = [image(1), image(2)];
/** One append that names two blobs. */
const PICTURES = {
  op: 'append',
  id: 's',
  key: 'pictures',
  messages: [{ role: 'user', content: IMAGES.map(block) }],
};

function block(bytes: Buffer): object {
  return { type: 'image', data: bytes.toString('base64'), mimeType: 'image/png' };
}

const blobFolder = (at: TestHome): string => at.transcript.replace(/jsonl$/, 'blobs');
const filesIn = (folder: string): string[] => (existsSync(folder) ? readdirSync(folder) : []);

async function kindsOf(driver: DriverProcess): Promise<string[]> {
  const { status, findings } = await must(driver, { op: 'verify' });
  // An unused blob is reported and harmless; anything else would be a line without its blob.
  expect(status).toBe('clean');
  return (findings as { kind: string }[]).map(({ kind }) => kind);
}

async function expectPictures(driver: DriverProcess): Promise<void> {
  for (const bytes of IMAGES) {
    const { base64 } = await must(driver, { op: 'blob', id: 's', hash: hashOf(bytes) });
    expect(base64 === bytes.toString('base64')).toBe(true);
  }
}

/** Meets the fault with the one append, then reports what is left in a process without faults. */
async function meet(
  at: TestHome,
  plan: Omit<FaultPlan, 'log'>,
): Promise<{ answer: Answer; kinds: string[] }> {
  await using driver = await startDriver(at.options('jsonl', plan));
  await must(driver, SESSION);
  const [answer, beside] = await Promise.all([
    driver.send(PICTURES),
    driver.send({ op: 'append', id: 's', ...say('beside') }),
  ]);
  if (!hasDied(answer)) {
    // Whatever the disk reported for blobs, other sessions of the same batch and the store continue.
    expect(beside).toMatchObject({ ok: true });
    await must(driver, { op: 'append', id: 's', ...say('next') });
    await driver.stop();
  }
  await using fresh = await startDriver(at.options('jsonl'));
  const kinds = await kindsOf(fresh);
  await must(fresh, PICTURES);
  await expectPictures(fresh);
  const { entries } = await must(fresh, { op: 'read', id: 's', from: 2 });
  const pictures = (entries as { entry: { message?: { content: unknown } } }[]).filter(({ entry }) =>
    Array.isArray(entry.message?.content),
  );
  expect(pictures).toHaveLength(1);
  return { answer, kinds };
}

describe.skipIf(!supported)(
  supported ? 'blobs on a failing disk' : `blobs on a failing disk (skipped: ${reason})`,
  () => {
    test('T01 SIGKILL at every step from the first byte of a blob to the line that names it: at most a stray', async () => {
      const calls: FaultPlan['calls'] = [...ALL_WRITES, 'fsync', 'rename'];
      const seen: string[] = [];
      for (const action of ['kill', 'kill-after'] as const) {
        for (let k = 1; ; k++) {
          using at = new TestHome();
          const { answer, kinds } = await meet(at, { path: '.blobs', calls, at: k, action });
          const [fired] = readFaultLog(at.log);
          if (fired === undefined) {
            expect(answer).toMatchObject({ ok: true });
            expect(kinds).toEqual([]);
            break;
          }
          expect(hasDied(answer), `k=${k}`).toBe(true);
          expect(
            kinds.every((kind) => kind === 'stray-blob'),
            kinds.join(),
          ).toBe(true);
          seen.push(`${action} ${fired.call}: ${kinds.length}`);
        }
      }
      told(`T01 blobs, strays left by call: ${seen.join(', ')}`);
      // Two blobs of a write, a sync and a rename each, and the folder's own sync, before and after each.
      expect(seen).toHaveLength(14);
    }, 300_000);

    test.each([
      ['T03 a full disk', ALL_WRITES, 'enospc', 'STORE_FULL'],
      ['T03 a disk that fills half-way', ALL_WRITES, 'full:5000', 'STORE_FULL'],
      ['T06 a failing sync', ['fsync'], 'eio', 'STORE_FAILED'],
      ['T06 a failing rename', ['rename'], 'eio', 'STORE_FAILED'],
    ] as const)(
      '%s while a blob is written is a clear no, leaves nothing, and the next append works',
      async (what, calls, action, code) => {
        const codes: string[] = [];
        for (let k = 1; ; k++) {
          using at = new TestHome();
          const plan = {
            path: '.blobs',
            calls,
            at: k,
            action,
            ...(code === 'STORE_FULL' && { count: -1 }),
          } as const;
          const { answer, kinds } = await meet(at, plan);
          if (readFaultLog(at.log).length === 0) break;
          expect(answer, `k=${k}`).toMatchObject({ ok: false, code, outcome: 'none' });
          expect(kinds).toEqual([]);
          codes.push(`${answer.code}/${answer.outcome}`);
        }
        told(`${what}: ${codes.join(', ')}`);
        expect(codes.length).toBeGreaterThan(1);
      },
    );
  },
);

describe.skipIf(noMount !== undefined)(
  noMount === undefined ? 'blobs on a small disk' : `blobs on a small disk (skipped: ${noMount})`,
  () => {
    test.each(['jsonl', 'sqlite'])(
      'T04 %s: full of blobs, freed and used on: none lost, none half',
      async (store) => {
        using at = new TestHome();
        using _disk = mountTmpfs(at.home, '12m');
        await using driver = await startDriver(at.options(store));
        await must(driver, SESSION);
        writeFileSync(join(at.home, 'ballast'), Buffer.alloc(4 * 1024 * 1024));
        const kept: Buffer[] = [];
        let refused: Answer | undefined;
        for (let n = 1; refused === undefined && n < 100; n++) {
          const bytes = Buffer.alloc(300_000, `picture ${n} `);
          const answer = await driver.send({
            op: 'append',
            id: 's',
            messages: [{ role: 'user', content: [block(bytes)] }],
          });
          if (answer.ok) kept.push(bytes);
          else refused = answer;
        }
        expect(refused).toMatchObject({ code: 'STORE_FULL', outcome: 'none' });
        expect(await kindsOf(driver)).toEqual([]);
        if (store === 'jsonl') expect(filesIn(blobFolder(at))).toHaveLength(kept.length);
        writeFileSync(join(at.home, 'ballast'), '');
        await must(driver, PICTURES);
        await expectPictures(driver);
        for (const bytes of kept) {
          const { base64 } = await must(driver, { op: 'blob', id: 's', hash: hashOf(bytes) });
          expect(base64 === bytes.toString('base64')).toBe(true);
        }
        told(
          `T04 ${store} blobs: full after ${kept.length}, ${refused?.code}/${refused?.outcome}, all read back`,
        );
      },
    );
  },
);
