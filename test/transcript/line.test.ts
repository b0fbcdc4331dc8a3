import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeLine, encodeLine, entryIdForSeq, type JsonObject } from '../../src/exports/transcript.ts';
import { RepriseError } from '../../src/index.ts';
import { longEntryIdForSeq } from '../../src/transcript/entry-id.ts';
import { assertStorable } from '../../src/transcript/json.ts';

fc.configureGlobal({ seed: Number(process.env['REPRISE_PROPERTY_SEED'] ?? 7) });

const SEAL = { q: 7, e: 2, b: '1/1' };

function encode(record: JsonObject): Buffer {
  return Buffer.from(encodeLine(record, SEAL));
}

/** The line without its LF, as the splitter hands it over. */
function decode(line: Buffer): ReturnType<typeof decodeLine> {
  return decodeLine(line.subarray(0, -1));
}

function bodyOf(line: Buffer): JsonObject {
  const decoded = decode(line);
  if (decoded.kind !== 'record') throw new Error(`not a record: ${JSON.stringify(decoded)}`);
  const { seal: _, ...body } = decoded.record;
  return body;
}

const user = (content: unknown): JsonObject => ({ type: 'message', message: { role: 'user', content } });

function codeOf(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    if (error instanceof RepriseError) return { code: error.code, limit: error.details['limit'] };
    throw error;
  }
  return 'no error';
}

describe('the seal', () => {
  test('ends the line, counts it, and covers every byte before the checksum', () => {
    const line = encodeLine(
      { type: 'custom', id: 'x' },
      { q: 12, e: 3, b: '2/5', k: 'a"b', h: '0123456789abcdef' },
    );
    const head =
      '{"type":"custom","id":"x","seal":{"q":12,"e":3,"b":"2/5","k":"a\\"b","h":"0123456789abcdef"';
    expect(line).toBe(`${head},"c":"${crc32(head).toString(16).padStart(8, '0')}"}}\n`);
    expect(decodeLine(Buffer.from(line.slice(0, -1)))).toMatchObject({
      seal: { q: 12, e: 3, b: '2/5', k: 'a"b' },
    });
  });

  test('every flipped bit of a line is noticed', () => {
    const line = encode(user('hello'));
    for (let bit = 0; bit < (line.length - 1) * 8; bit++) {
      const damaged = Buffer.from(line);
      damaged[bit >> 3] = (damaged[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      const decoded = decode(damaged);
      // Damage in the word "seal" itself leaves a line that carries none: foreign, never ours.
      if (decoded.kind === 'record') expect([undefined, 'broken']).toContain(decoded.seal);
    }
  });

  test('is replaced, not nested, when a sealed entry is copied', () => {
    const decoded = decode(encode(user('hello')));
    if (decoded.kind !== 'record') throw new Error('unreadable');
    expect(
      encode(decoded.record)
        .toString()
        .match(/"seal"/g),
    ).toHaveLength(1);
    expect(bodyOf(encode(decoded.record))).toEqual(user('hello'));
  });

  test.each([
    '{"type":"x","seal":{"q":1,"e":1,"b":"1/1","c":"00000000"}}',
    '{"type":"x","seal":{"q":1,"e":1,"b":"1/1","c":"00000000"} }',
    '{"seal":{"q":1,"e":1,"b":"1/1","c":"00000000"},"type":"x"}',
    '{"type":"x","seal":null}',
    '{"type":"x","seal":{"q":-1,"e":1,"b":"2/1","c":"00000000"}}',
  ])('%s is a broken seal, not a foreign line', (text) => {
    expect(decodeLine(Buffer.from(text))).toMatchObject({ kind: 'record', seal: 'broken' });
  });
});

describe('T62 text survives the codec byte for byte', () => {
  test.each([
    '\u0000',
    '\ud800',
    'a\udc00',
    '\u2028\u2029',
    '💬',
    '\u0085',
    '\r\n',
    '\ufeff',
    '\u007f',
    '</script>',
    '\\',
    '"',
  ])('%j', (text) => {
    const line = encode(user(text));
    expect(bodyOf(line)).toEqual(user(text));
    expect(line.indexOf(10)).toBe(line.length - 1);
    expect(encode(bodyOf(line))).toEqual(line);
  });

  test('any JSON value does', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) => {
        const normal: unknown = JSON.parse(JSON.stringify(value)); // -0 is 0 in JSON
        expect(bodyOf(encode({ type: 'custom', data: value }))).toEqual({ type: 'custom', data: normal });
      }),
    );
  });
});

describe('T63 records that are not reasonable', () => {
  const nested = (depth: number): string =>
    `{"type":"custom","data":${'['.repeat(depth)}${']'.repeat(depth)}}`;

  test('are read up to depth 256 and skipped beyond, without recursion', () => {
    expect(decodeLine(Buffer.from(nested(255)))).toMatchObject({ kind: 'record' });
    for (const depth of [256, 10_001, 1_000_000]) {
      expect(decodeLine(Buffer.from(nested(depth)))).toEqual({ kind: 'bad', reason: 'too-deep' });
    }
  });

  test('are refused beyond depth 256 when written, cycles included', () => {
    let value: unknown = 0;
    for (let i = 0; i < 20_000; i++) value = [value];
    expect(codeOf(() => encode({ type: 'custom', data: value }))).toEqual({
      code: 'LIMIT_EXCEEDED',
      limit: 'depth',
    });
    const cycle: Record<string, unknown> = { type: 'custom' };
    cycle['self'] = cycle;
    expect(codeOf(() => encode(cycle))).toEqual({ code: 'LIMIT_EXCEEDED', limit: 'depth' });
    let wide: unknown = 'x';
    for (let i = 0; i < 60; i++) wide = [wide, wide];
    expect(codeOf(() => encode({ type: 'custom', data: wide }))).toEqual({
      code: 'LIMIT_EXCEEDED',
      limit: 'record',
    });
  });

  test('a million keys go through', { tags: 'long', timeout: 600_000 }, () => {
    const data = Object.fromEntries(Array.from({ length: 1_000_000 }, (_, i) => [`k${i}`, 1]));
    expect(Object.keys(bodyOf(encode({ type: 'custom', data }))['data'] as object)).toHaveLength(1_000_000);
  });

  test.each(['1e400', '9007199254740993', '-1e999'])(
    '%s is reported: the file keeps digits that memory cannot',
    (digits) => {
      expect(decodeLine(Buffer.from(`{"type":"custom","data":[{"n":${digits}}]}`))).toMatchObject({
        inexact: true,
      });
    },
  );

  test.each(['1e300', '9007199254740991', '0.1', '-0', '12'])('%s is not', (digits) => {
    const inexact = digits === '1e300'; // an integer no double can count to
    expect(decodeLine(Buffer.from(`{"type":"custom","data":${digits}}`))).toMatchObject({ inexact });
  });

  test.each([
    ['a number that is none', Number.NaN],
    ['an infinite number', Number.POSITIVE_INFINITY],
    ['a big integer', 1n],
    ['a function', () => 1],
    ['a hole in an array', [undefined]],
    ['a date', new Date(0)],
    ['a map', new Map()],
    ['an object with a toJSON of its own', { toJSON: () => 'other' }],
  ])('%s is refused, because JSON would change it', (_what, value) => {
    expect(codeOf(() => encode({ type: 'custom', data: value }))).toMatchObject({ code: 'INVALID_INPUT' });
  });

  test('a record has a type', () => {
    for (const value of [{}, { type: 1 }, [], null]) {
      expect(codeOf(() => encode(value as JsonObject))).toMatchObject({ code: 'INVALID_INPUT' });
    }
  });
});

describe('T64 the size limit of a record', () => {
  test('is exact, and counts bytes', () => {
    const overhead = encode(user('')).length - 1;
    const limits = { maxRecordBytes: overhead + 512 * 1024, maxDepth: 256 };
    const line = encodeLine(user('x'.repeat(512 * 1024)), SEAL, limits);
    expect(decodeLine(Buffer.from(line.slice(0, -1)), limits)).toMatchObject({ kind: 'record' });
    expect(codeOf(() => encodeLine(user('x'.repeat(512 * 1024 + 1)), SEAL, limits))).toEqual({
      code: 'LIMIT_EXCEEDED',
      limit: 'record',
    });
    expect(codeOf(() => encodeLine(user('é'.repeat(300 * 1024)), SEAL, limits))).toEqual({
      code: 'LIMIT_EXCEEDED',
      limit: 'record',
    });
    expect(decodeLine(Buffer.from(`${line.slice(0, -1)} `), limits)).toEqual({
      kind: 'bad',
      reason: 'too-long',
    });
  });

  test('is 16 MiB unless configured', () => {
    expect(codeOf(() => encode(user('x'.repeat(16 * 1024 * 1024))))).toEqual({
      code: 'LIMIT_EXCEEDED',
      limit: 'record',
    });
    expect(bodyOf(encode(user('x'.repeat(16 * 1024 * 1024 - 1024))))).toBeDefined();
  });
});

test('T65 keys that aim at prototypes are data', () => {
  const text =
    '{"type":"custom","__proto__":{"isAdmin":true},"data":{"constructor":{"prototype":{"isAdmin":true}}}}';
  const decoded = decodeLine(Buffer.from(text));
  if (decoded.kind !== 'record') throw new Error('unreadable');
  expect(JSON.stringify(decoded.record)).toBe(text);
  const again = bodyOf(encode(decoded.record));
  expect(JSON.stringify(again)).toBe(text);
  expect(({} as { isAdmin?: boolean }).isAdmin).toBeUndefined();
});

test('bytes that are not UTF-8 are reported and the rest of the line is read', () => {
  const text = Buffer.from('{"type":"custom","data":"a?b\ufffd"}');
  text[text.indexOf('?')] = 0xff;
  expect(decodeLine(text)).toMatchObject({ kind: 'record', badUtf8: true });
  expect(decodeLine(Buffer.from('{"type":"custom","data":"\ufffd"}'))).toMatchObject({ badUtf8: false });
});

describe('entry ids', () => {
  test('are eight hex characters, and no two sequence numbers share one', () => {
    const ids = new Set<string>();
    for (let seq = 1; seq <= 200_000; seq++) ids.add(entryIdForSeq(seq));
    for (let seq = 2 ** 32 - 1000; seq < 2 ** 32; seq++) ids.add(entryIdForSeq(seq));
    expect(ids.size).toBe(201_000);
    for (const id of ids) if (!/^[0-9a-f]{8}$/.test(id)) throw new Error(id);
  });

  test('are the same on every machine and in every version', () => {
    expect([1, 2, 3, 1000].map(entryIdForSeq)).toMatchInlineSnapshot(`
      [
        "688990c0",
        "d1132181",
        "53f1e9dd",
        "53df6d52",
      ]
    `);
    expect(longEntryIdForSeq(2)).toMatch(/^[0-9a-f]{16}$/);
  });
});

test('a text that is too long for a line is refused before anything is made of it', () => {
  const entry = { type: 'message', message: { role: 'user', content: 'word '.repeat(10 * 1024 * 1024) } };
  const before = process.memoryUsage();
  expect(() => assertStorable(entry)).toThrow(expect.objectContaining({ code: 'LIMIT_EXCEEDED' }));
  expect(() => assertStorable({ text: '\u6f22'.repeat(6 * 1024 * 1024) })).toThrow(/larger than/);
  // 6 million letters of one byte are short enough, and so is a name for each of many values.
  expect(() => assertStorable({ text: 'x'.repeat(6 * 1024 * 1024) })).not.toThrow();
  const { arrayBuffers } = process.memoryUsage();
  expect(arrayBuffers - before.arrayBuffers).toBeLessThan(1024 * 1024);
});
