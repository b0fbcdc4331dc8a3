import assert from 'node:assert/strict';
import { exportParts } from '../../../src/store/copy/export-parts.ts';
import type { NewEntry, Store } from '../../../src/store/port/store.ts';
import type { Seal } from '../../../src/transcript/entry.ts';
import type { JsonObject } from '../../../src/transcript/json.ts';
import { decodeLine } from '../../../src/transcript/line.ts';
import { parseTranscript } from '../../../src/transcript/reader.ts';
import {
  assistant,
  beforeAndAfter,
  bodyOf,
  leafMove,
  note,
  range,
  readAll,
  readEntries,
  refused,
  session,
  textOf,
  user,
} from '../kit.ts';
import type { StoreCase } from '../store-case.ts';

/** Texts that files, databases and line protocols tend to change. */
const HOSTILE: readonly string[] = [
  'NUL \u0000 inside',
  'lone \ud800 high, lone \udc00 low, swapped \udc00\ud800',
  'separators \u2028 \u2029 \u0085',
  '\ufeffBOM in front, \ufeff inside',
  'CRLF\r\nCR\rLF\nTAB\t',
  'emoji 😀 👨‍👩‍👧 🇪🇺, combining e\u0301, composed \u00e9',
  'quotes " \' ` \\ \\u0000 </script> {"type":"session"}',
  'bidi \u202e txt \u2066, noncharacters \uffff \ufffe, \u007f \u001b[31m',
  ',"seal":{"q":1,"e":0,"b":"1/1","c":"00000000"}}',
  '',
];

export const exportCases: readonly StoreCase[] = [
  {
    name: 'hostile text comes back unchanged from append, read, reopen and export',
    promise: 'P1: content is stored byte for byte',
    area: 'export',
    async run({ store, reopen }) {
      const id = await session(store);
      const given = [
        ...HOSTILE.map(user),
        ...HOSTILE.map((text) => ({ type: 'custom', data: { [text]: text } })),
      ];
      for (const entry of given) await store.append(id, [entry]);
      assert.deepEqual((await readEntries(store, id)).map(bodyOf), given);
      const exported = await store.exportSession(id);
      const reopened = await reopen();
      assert.deepEqual((await readEntries(reopened, id)).map(bodyOf), given);
      assert.deepEqual(await reopened.exportSession(id), exported);
      await assertExport(reopened, id);
    },
  },
  {
    name: 'an export in parts equals the whole export, for any range',
    promise: 'P1: content of any length is stored byte for byte',
    area: 'export',
    async run({ store, reopen }) {
      const id = await session(store);
      // More than one read returns.
      for (let i = 0; i < 5; i++) await store.append(id, [user(`${i} `.repeat(200_000)), note('x', { i })]);
      for await (const open of beforeAndAfter({ store, reopen })) {
        const whole = Buffer.from(await open.exportSession(id));
        const record = await open.get(id);
        assert.ok((await gathered(exportParts(open, record))).equals(whole));
        assert.ok(
          (await gathered(exportParts(open, { ...record, lastSeq: 3 }))).equals(firstLines(whole, 3)),
        );
        const { bytes, next } = await open.exportLines(id, { from: 4, to: 4 });
        assert.equal(next, 5);
        assert.ok(Buffer.concat([firstLines(whole, 3), bytes]).equals(firstLines(whole, 4)));
      }
    },
  },
  {
    name: 'entry fields named like object properties are data',
    promise: 'P1, P8: stored unchanged, without changing a prototype',
    area: 'export',
    async run({ store, reopen }) {
      const id = await session(store);
      const text =
        '{"type":"custom","__proto__":{"isAdmin":true},"data":{"__proto__":[1],"constructor":{"prototype":1}}}';
      await store.append(id, [JSON.parse(text) as NewEntry]);
      for await (const open of beforeAndAfter({ store, reopen })) {
        const [entry] = await readEntries(open, id);
        assert.ok(entry !== undefined);
        assert.equal(JSON.stringify(bodyOf(entry)), text);
        assert.equal(({} as JsonObject)['isAdmin'], undefined);
      }
      await assertExport(await reopen(), id);
    },
  },
  {
    name: 'deep entries come back unchanged',
    promise: 'P1: everything within the limits is stored',
    area: 'export',
    async run({ store, reopen }) {
      const id = await session(store);
      let deep: unknown = 'bottom';
      for (const i of range(1, 250)) deep = i % 2 === 0 ? [deep] : { x: deep };
      await store.append(id, [{ type: 'custom', data: deep }]);
      for await (const open of beforeAndAfter({ store, reopen })) {
        const [entry] = await readEntries(open, id);
        assert.equal(JSON.stringify(entry?.['data']), JSON.stringify(deep));
      }
      await assertExport(await reopen(), id);
    },
  },
  {
    name: 'numbers keep their value',
    promise: 'P1: the line contains what the caller passed',
    area: 'export',
    async run({ store, reopen }) {
      const id = await session(store);
      const data = [0, 1.5, -1, 1e21, 5e-324, 1.7976931348623157e308, Number.MAX_SAFE_INTEGER, 0.1 + 0.2];
      await store.append(id, [{ type: 'custom', data }]);
      for await (const open of beforeAndAfter({ store, reopen })) {
        assert.deepEqual((await readEntries(open, id))[0]?.['data'], data);
      }
    },
  },
  {
    name: 'an export is the sealed history: header first, no gap, every line verifies',
    promise: 'I-3, I-4, I-10: the file alone can prove its content',
    area: 'export',
    async run({ store, reopen }) {
      const id = await session(store, ['a']);
      await store.append(id, [user('b'), note('n'), assistant('c')], { key: 'batch' });
      await store.patch(id, { model: 'm' });
      await store.append(id, [leafMove((await readEntries(store, id))[0]?.id ?? null), user('d')]);
      const lease = await store.lease(id, { waitMs: 0 });
      await store.append(id, [assistant('e')], { epoch: lease.epoch });
      await lease.release();
      await store.append(id, [user('f')]);
      await store.delete(id);
      await store.restore(id);
      await store.append(id, [user('g')]);
      const seals = await assertExport(store, id);
      assert.deepEqual(
        seals.slice(2, 5).map(({ b }) => b),
        ['1/3', '2/3', '3/3'],
      );
      assert.ok(
        seals.slice(2, 5).some(({ k }) => k === 'batch'),
        'the key of an append is in its lines',
      );
      const exported = await store.exportSession(id);
      const reopened = await reopen();
      assert.deepEqual(await reopened.exportSession(id), exported);
      await assertExport(reopened, id);
    },
  },
  {
    name: 'the lines of a holder are sealed with its epoch',
    promise: 'P5, I-4: a stale line is recognized by its epoch',
    area: 'export',
    async run({ store }) {
      const id = await session(store, ['a']);
      const lease = await store.lease(id, { waitMs: 0 });
      await store.append(id, [assistant('b')], { epoch: lease.epoch });
      await lease.release();
      const seals = await assertExport(store, id);
      assert.equal(seals.at(-1)?.e, lease.epoch);
      await refused(store.exportSession('nobody'), 'SESSION_NOT_FOUND');
    },
  },
  {
    name: 'large entries are exported whole',
    promise: 'P1: content is stored byte for byte',
    area: 'export',
    async run({ store, reopen }) {
      const id = await session(store);
      const text = '0123456789 字 '.repeat(200_000);
      await store.append(id, [user(text), assistant('small')]);
      const reopened = await reopen();
      const [entry] = await readEntries(reopened, id);
      assert.ok(entry !== undefined);
      // Compared as a whole, so that a failure does not print megabytes.
      assert.ok(textOf(entry) === text, 'the text is whole');
      await assertExport(reopened, id);
    },
  },
];

/** Checks the bytes against the rules of the format and against `read`. @returns the seals. */
async function assertExport(store: Store, id: string): Promise<Seal[]> {
  const bytes = Buffer.from(await store.exportSession(id));
  const stored = await readAll(store, id);
  const lines = splitLines(bytes);
  assert.equal(lines.length, stored.length);
  const seals = lines.map((line, i) => {
    const decoded = decodeLine(line);
    assert.equal(decoded.kind, 'record');
    if (decoded.kind !== 'record') return assert.fail('no record');
    assert.ok(decoded.seal !== undefined && decoded.seal !== 'broken', `line ${i + 1} verifies`);
    assert.equal(decoded.badUtf8, false);
    assert.equal(decoded.seal.q, i + 1, 'q counts without a gap');
    assert.deepEqual(unsealed(decoded.record), unsealed(stored[i]?.entry as unknown as JsonObject));
    return decoded.seal;
  });
  const { header, entries, sealed, corruptAt, issues } = parseTranscript(bytes, { sessionId: id });
  assert.equal(header?.id, id);
  assert.equal(sealed, true);
  assert.equal(corruptAt, undefined);
  assert.equal(entries.length, stored.length - 1);
  // Numbers too large to be exact are data here; any other finding would be a fault of the writer.
  assert.deepEqual(
    [...issues.counts.keys()].filter((kind) => kind !== 'inexact-number'),
    [],
  );
  return seals;
}

function splitLines(bytes: Buffer): Buffer[] {
  assert.equal(bytes.at(-1), 0x0a, 'an export ends in a newline');
  const lines: Buffer[] = [];
  for (let from = 0; from < bytes.length; ) {
    const end = bytes.indexOf(0x0a, from);
    lines.push(bytes.subarray(from, end));
    from = end + 1;
  }
  return lines;
}

function unsealed({ seal: _seal, ...record }: JsonObject): JsonObject {
  return record;
}

async function gathered(parts: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = [];
  for await (const part of parts) all.push(part);
  return Buffer.concat(all);
}

function firstLines(bytes: Buffer, count: number): Buffer {
  let end = 0;
  for (let i = 0; i < count; i++) end = bytes.indexOf(10, end) + 1;
  return bytes.subarray(0, end);
}
