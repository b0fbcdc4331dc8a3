import { appendFileSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fragmentKind } from '../../../src/store/jsonl/fragment.ts';
import { replay } from '../../support/engine/replay.ts';
import { JsonlHome, say } from '../../support/store/jsonl-home.ts';
import { until } from '../../support/store/store-faults.ts';

const TIME = '2026-01-01T00:00:00.000Z';

const foreign = (id: string, content: string, parentId: string | null = null): string =>
  JSON.stringify({ type: 'message', id, parentId, timestamp: TIME, message: { role: 'user', content } });

describe('a line another tool has not finished', () => {
  const line = foreign('f0000001', 'from outside');
  const half = line.slice(0, 40);
  /** Two seconds, but for what two clocks may differ. */
  const QUIET_MS = 1900;

  test('is left alone while nothing has to be written, and counts when its end has come', async () => {
    // Again if the machine stood still for so long that the line was given up.
    await replay('its end comes before it is given up', async () => {
      await using home = new JsonlHome();
      await home.open();
      await home.seed('s1', 'one');
      const began = performance.now();
      appendFileSync(home.file(), half);
      // A lease writes nothing; the file is looked into all the same.
      await (await home.store.lease('s1')).release();
      const left = readFileSync(home.file(), 'utf8');
      appendFileSync(home.file(), `${line.slice(40)}\n`);
      if (performance.now() - began >= QUIET_MS) return false;
      expect(left.endsWith(half)).toBe(true);
      await home.store.append('s1', [say('two')]);
      expect(await home.texts()).toEqual(['one', 'from outside', 'two']);
      expect(home.quarantine()).toEqual([]);
      expect(await home.store.verify()).toMatchObject({ status: 'clean' });
      return true;
    });
  });

  test('that is whole but for its newline counts after two quiet seconds and gets it', async () => {
    await using home = new JsonlHome();
    await home.open();
    await home.seed('s1', 'one');
    const began = performance.now();
    appendFileSync(home.file(), line);
    await (await home.store.lease('s1')).release();
    await until('the line counts', async () => (await home.store.get('s1')).lastSeq === 3);
    expect(performance.now() - began).toBeGreaterThan(QUIET_MS);
    expect(await home.texts()).toEqual(['one', 'from outside']);
    expect(readFileSync(home.file(), 'utf8').endsWith(`${line}\n`)).toBe(true);
  });

  test('that stays half goes to quarantine after two quiet seconds', async () => {
    await using home = new JsonlHome();
    await home.open();
    await home.seed('s1', 'one');
    const before = readFileSync(home.file());
    const began = performance.now();
    appendFileSync(home.file(), half);
    await (await home.store.lease('s1')).release();
    await until('it is gone from the file', () => readFileSync(home.file()).equals(before));
    expect(performance.now() - began).toBeGreaterThan(QUIET_MS);
    expect(home.quarantine()).toEqual([Buffer.from(half)]);
  });

  test('that is half when we have to write is closed, kept and skipped, also by a new index', async () => {
    await using home = new JsonlHome();
    await home.open();
    await home.seed('s1', 'one');
    appendFileSync(home.file(), half);
    expect(await home.store.append('s1', [say('two')])).toEqual({ firstSeq: 3, lastSeq: 3 });
    await home.followed();
    // The rest comes too late: it is not a record, and does no harm.
    appendFileSync(home.file(), `${line.slice(40)}\n`);
    await home.store.append('s1', [say('three')]);
    await home.followed();
    expect(readFileSync(home.file(), 'utf8')).toContain(`\n${half}\n{`);
    expect(await home.texts()).toEqual(['one', 'two', 'three']);
    expect(await home.store.verify()).toMatchObject({
      status: 'quarantined',
      findings: [{ kind: 'bad-json', session: 's1' }],
    });
    const exported = await home.store.exportSession('s1');
    await home.rebuild();
    expect(await home.store.exportSession('s1')).toEqual(exported);
    expect(await home.texts()).toEqual(['one', 'two', 'three']);
  });

  test('that is whole when we have to write comes before what we write, in the file and in the numbers', async () => {
    await using home = new JsonlHome();
    await home.open();
    await home.seed('s1', 'one');
    appendFileSync(home.file(), line);
    expect(await home.store.append('s1', [say('two')])).toEqual({ firstSeq: 4, lastSeq: 4 });
    expect(await home.texts()).toEqual(['one', 'from outside', 'two']);
    await home.rebuild();
    expect(await home.texts()).toEqual(['one', 'from outside', 'two']);
  });

  test.each([
    ['whole', line],
    ['half', half],
    ['half', '{'],
    ['half', '{"text":"Gr\u00fc\u00dfe'],
    ['half', '  '],
    ['garbage', '\0'.repeat(20)],
    ['garbage', '{"a\0'],
    ['garbage', 'Hello'],
    ['garbage', '[1,2'],
  ] as const)('%s: %j', (kind, text) => {
    expect(fragmentKind(Buffer.from(text))).toBe(kind);
  });

  test('a character cut in the middle may still be finished, other bytes may not', () => {
    const bytes = Buffer.from('{"a":"\u20ac');
    for (const end of [1, 2]) expect(fragmentKind(bytes.subarray(0, -end))).toBe('half');
    expect(fragmentKind(Buffer.from([0x7b, 0xff, 0xfe]))).toBe('garbage');
    expect(fragmentKind(bytes)).toBe('half');
  });
});

test('records that are no entries take no number, and one line takes one, however much it says', async () => {
  await using home = new JsonlHome();
  await home.open();
  await home.seed('s1', 'one');
  const blocks = [
    { type: 'tool_result', tool_use_id: 'call', content: 'result' },
    { type: 'text', text: 'and a question' },
  ];
  const lines = [
    '{"hello":"world"}',
    '',
    JSON.stringify({ type: 'session', version: 3, id: 'other', timestamp: TIME, cwd: '' }),
    JSON.stringify({ type: 'message', timestamp: TIME, message: { role: 'user', content: blocks } }),
    foreign('f0000001', 'last'),
  ];
  appendFileSync(home.file(), `${lines.join('\n')}\n`);
  expect(await home.store.append('s1', [say('two')])).toEqual({ firstSeq: 5, lastSeq: 5 });
  expect(await home.texts()).toEqual(['one', blocks, 'last', 'two']);
  expect((await home.store.verify()).status).not.toBe('corrupt');
  const { entries } = await home.store.read('s1');
  await home.rebuild();
  expect((await home.store.read('s1')).entries).toEqual(entries);
});

type Step =
  | { readonly kind: 'own'; readonly lines: number }
  | { readonly kind: 'foreign'; readonly what: number }
  | { readonly kind: 'fragment'; readonly cut: number }
  | { readonly kind: 'rest' }
  | { readonly kind: 'look' };

const WHOLE: readonly ((n: number, leaf: string | null) => string)[] = [
  (n, leaf) => `${foreign(`f${n}`, `foreign ${n}`, leaf)}\n`,
  (n) => `${foreign(`f${n}`, `root ${n}`)}\n`,
  (n) =>
    `${JSON.stringify({ type: 'message', timestamp: TIME, message: { role: 'user', content: `id-less ${n}` } })}\n`,
  (n) =>
    `${JSON.stringify({ type: 'label', id: `l${n}`, parentId: 'nowhere', timestamp: TIME, label: 'x' })}\n`,
  (n) => `${JSON.stringify({ role: 'user', content: `flat ${n}`, ts: 1_700_000_000 + n })}\n`,
  () => '{"no":"entry"}\n',
  () => '\n',
  () => '{"half":\n',
  () => 'garbage\n',
  (n) => foreign(`w${n}`, `without newline ${n}`),
  () => '\0'.repeat(100),
];

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('own' as const), lines: fc.integer({ min: 1, max: 3 }) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('foreign' as const), what: fc.nat({ max: WHOLE.length - 1 }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('fragment' as const), cut: fc.integer({ min: 1, max: 60 }) }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'rest' } as const) },
  { weight: 1, arbitrary: fc.constant({ kind: 'look' } as const) },
);

type Part = 'first half' | 'second half';

/** One of our processes and one other tool on the same file, turn by turn. */
async function play(home: JsonlHome, id: string, all: readonly Step[], part: Part): Promise<void> {
  let rest = '';
  for (const [n, { kind, ...step }] of all.entries()) {
    if (n < Math.ceil(all.length / 2) !== (part === 'first half')) continue;
    const write = (text: string): void => appendFileSync(home.file(id), text);
    if (kind === 'own') {
      const { lines } = step as { lines: number };
      await home.store.append(
        id,
        Array.from({ length: lines }, (_, i) => say(`${id} ${n}.${i}`)),
        { key: `${n}` },
      );
    } else if (kind === 'look') await (await home.store.lease(id)).release();
    // The other tool sees what we have written: its line stands after ours.
    await home.followed();
    if (kind === 'foreign')
      write(WHOLE[(step as { what: number }).what]?.(n, (await home.store.get(id)).leaf) ?? '');
    else if (kind === 'rest') write(`${rest}\n`);
    else if (kind === 'fragment') {
      const line = foreign(`p${n}`, `in parts ${n}`);
      rest = line.slice((step as { cut: number }).cut);
      write(line.slice(0, (step as { cut: number }).cut));
    }
  }
  await home.store.append(id, [say(`end of the ${part}`)]);
  await home.followed();
}

async function everything(home: JsonlHome, id: string): Promise<object> {
  const { epoch: _epoch, lastAt: _lastAt, ...record } = await home.store.get(id);
  const { entries } = await home.store.read(id, { limit: 10_000 });
  return { record, entries, exported: Buffer.from(await home.store.exportSession(id)).toString() };
}

test('whatever another tool writes between our lines, a new index equals the old one', async () => {
  const runs = Number(process.env['REPRISE_PROPERTY_RUNS'] ?? 5);
  const seed = Number(process.env['REPRISE_PROPERTY_SEED'] ?? 7);
  const property = fc.asyncProperty(
    fc.array(fc.array(step, { minLength: 2, maxLength: 10 }), { minLength: 1, maxLength: 6 }),
    fc.boolean(),
    async (sessions, isReopened) => {
      await using home = new JsonlHome();
      await home.open();
      const ids = sessions.map((_, n) => `s${n}`);
      for (const id of ids) await home.store.create({ id, key: 'agent:main:main' });
      for (const [n, id] of ids.entries()) await play(home, id, sessions[n] ?? [], 'first half');
      if (isReopened) await home.reopen();
      for (const [n, id] of ids.entries()) await play(home, id, sessions[n] ?? [], 'second half');
      const before = [];
      for (const id of ids) before.push(await everything(home, id));
      await home.rebuild();
      const after = [];
      for (const id of ids) after.push(await everything(home, id));
      expect(after).toEqual(before);
      expect((await home.store.verify()).status).not.toBe('corrupt');
    },
  );
  await fc.assert(property, { numRuns: runs, endOnFailure: true, seed });
}, 3_600_000);
