import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { STORE_FILES } from '../../../src/config/home-stores.ts';
import { openStore } from '../../../src/config/open.ts';
import { findLogDamage } from '../../../src/store/jsonl/log-damage.ts';

const root = mkdtempSync(join(tmpdir(), 'reprise-log-damage-'));
afterAll(() => rmSync(root, { recursive: true }));
const say = (content: string) => ({ type: 'message', message: { role: 'user', content } }) as const;

describe.each(['jsonl', 'sqlite'] as const)('the log that a killed process left in a %s home', (kind) => {
  const killed = join(root, kind);
  const database = STORE_FILES[kind];
  let log: Buffer;

  /** The database and its log as they are while a process runs, which is what a kill leaves. */
  beforeAll(async () => {
    const running = join(root, `${kind}-running`);
    mkdirSync(killed);
    await using store = await openStore({ kind, home: running });
    await store.create({ id: 's', key: 'agent:main:main' });
    for (let i = 0; i < 8; i++) await store.append('s', [say(`message ${i}`)]);
    for (const suffix of ['', '-wal', '-shm'])
      copyFileSync(join(running, database + suffix), join(killed, database + suffix));
    log = readFileSync(join(killed, `${database}-wal`));
  });

  function homeWith(bytes: Buffer): string {
    const home = mkdtempSync(join(root, 'home-'));
    for (const suffix of ['', '-shm'])
      copyFileSync(join(killed, database + suffix), join(home, database + suffix));
    writeFileSync(join(home, `${database}-wal`), bytes);
    return home;
  }

  async function verified(home: string): Promise<{ status: string; kinds: string[] }> {
    await using store = await openStore({ kind, home });
    const { status, findings } = await store.verify();
    return { status, kinds: findings.map((found) => found.kind).filter((name) => name === 'damaged-log') };
  }

  const flipped = (at: number): Buffer => {
    const bytes = Buffer.from(log);
    bytes[at] = (bytes[at] ?? 0) ^ 4;
    return bytes;
  };

  test('is reported and kept where a bit is flipped in front of a later commit', async () => {
    const bytes = flipped(log.length >> 1);
    const home = homeWith(bytes);
    expect(await verified(home)).toEqual({ status: 'corrupt', kinds: ['damaged-log'] });
    const folder = join(home, 'quarantine');
    const [copy = '', report = ''] = readdirSync(folder).sort();
    expect(readFileSync(join(folder, copy)).equals(bytes)).toBe(true);
    expect(JSON.parse(readFileSync(join(folder, report), 'utf8'))).toMatchObject({
      lost: [expect.stringMatching(/^\d+ committed transactions behind a damaged frame/)],
    });
    // Once: the next open has nothing new to say, and says it again until the report is removed.
    expect((await verified(home)).kinds).toEqual(['damaged-log']);
    rmSync(folder, { recursive: true });
    expect((await verified(home)).kinds).toEqual([]);
  });

  test('every flip in a page or a checksum is found, but for the last transaction', () => {
    const pageBytes = log.readUInt32BE(8);
    const frames = (log.length - 32) / (24 + pageBytes);
    const at = (frame: number): number => 32 + frame * (24 + pageBytes);
    const commits = Array.from({ length: frames }, (_, i) => i).filter(
      (i) => log.readUInt32BE(at(i) + 4) !== 0,
    );
    const lastBegins = (commits.at(-2) ?? 0) + 1;
    expect(commits.length).toBeGreaterThan(5);
    for (let frame = 0; frame < lastBegins; frame++)
      for (const place of [8, 18, 24, 24 + (pageBytes >> 1)])
        expect(findLogDamage(flipped(at(frame) + place)), `frame ${frame}, byte ${place}`).toMatchObject({
          offset: at(frame),
        });
  });

  test('is not reported where it is whole, ends in the middle of a frame, or lost its last transaction', async () => {
    expect(findLogDamage(log)).toBeUndefined();
    expect(findLogDamage(log.subarray(0, log.length - 1000))).toBeUndefined();
    expect(findLogDamage(flipped(log.length - 100))).toBeUndefined();
    expect((await verified(homeWith(log))).kinds).toEqual([]);
  });
});
