import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  blobNames,
  contentText,
  extractBlobs,
  hydrateBlobs,
  type JsonObject,
  rebuildHistory,
} from '../../src/exports/transcript.ts';
import type { Entry } from '../../src/index.ts';
import { blobHash, isBlobReference, releaseBlobs } from '../../src/transcript/blobs.ts';
import { pngBase64 } from '../support/engine/images.ts';

const LIMIT = 64 * 1024;
const RUNS = Number(process.env['REPRISE_PROPERTY_RUNS'] ?? 200);
const SEED = Number(process.env['REPRISE_PROPERTY_SEED'] ?? 7);

/** Takes large parts out into a map, as a store does. */
function extract<E extends JsonObject>(entry: E): { entry: E; blobs: Map<string, Uint8Array> } {
  const blobs = new Map<string, Uint8Array>();
  const keep = (bytes: Uint8Array): string => {
    const name = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
    blobs.set(name, bytes);
    return name;
  };
  return { entry: extractBlobs(entry, keep), blobs };
}

const message = (role: string, content: unknown): Entry => ({
  type: 'message',
  id: 'e',
  parentId: null,
  timestamp: '',
  message: { role, content, toolCallId: 'c', isError: false },
});
const result = (text: string): Entry => message('toolResult', [{ type: 'text', text }]);
const lastBlock = (entry: Entry): JsonObject =>
  (entry['message'] as { content: JsonObject[] }).content.at(-1) ?? {};

/** A few characters many times over: as long as a large part, and cheap to make and to shrink. */
const long = (unit: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc
    .tuple(
      fc.string({ unit: 'binary', maxLength: 5 }),
      unit,
      fc.constantFrom(100, LIMIT, LIMIT + 1, 3 * LIMIT),
    )
    .map(([start, piece, length]) => start + piece.repeat(Math.ceil(length / Math.max(1, piece.length))));
const anyText = long(
  fc.oneof(
    fc.constantFrom('a', '字', '😀', '\u0000', '\ud800', '\udc00x', '\ufeff', '\r\n'),
    fc.string({ minLength: 1 }),
  ),
);
const base64 = fc
  .tuple(fc.uint8Array({ minLength: 1, maxLength: 5 }), fc.constantFrom(10, LIMIT, LIMIT + 1, 100_000))
  .map(([bytes, length]) => Buffer.alloc(length, bytes).toString('base64'));
const data = fc.oneof(
  { weight: 3, arbitrary: base64 },
  base64.map((plain) => `data:image/png;base64,${plain}`),
  base64.map((plain) => plain.replace(/=+$/, '')),
  base64.map((plain) => plain.replace(/.{76}/g, '$&\r\n')),
  base64.map((plain) => plain.replaceAll('/', '_')),
  anyText,
);
const odd = fc.dictionary(
  fc.constantFrom(
    'detail',
    'blob',
    'bytes',
    'text',
    'mimeType',
    'blobEncoding',
    '__proto__',
    '0',
    'cacheControl',
  ),
  fc.constantFrom<unknown>('high', 1, null, { deep: [] }, 'sha256:', 'utf8'),
  { maxKeys: 2, noNullPrototype: true },
);
const extra = fc.oneof({ weight: 3, arbitrary: fc.constant({}) }, odd);
const block: fc.Arbitrary<unknown> = fc.oneof(
  fc
    .tuple(extra, anyText, fc.boolean())
    .map(([more, text, first]) =>
      first ? { type: 'text', text, ...more } : { ...more, text, type: 'text' },
    ),
  fc
    .tuple(
      extra,
      data,
      fc.constantFrom<unknown>(
        'image/png',
        'image/jpeg',
        'image/svg+xml',
        'text/plain',
        'image/<b>',
        undefined,
      ),
    )
    .map(([more, image, mimeType]) => ({ ...more, mimeType, type: 'image', data: image })),
  fc.constantFrom<unknown>(
    'bare',
    7,
    null,
    { type: 'thinking', thinking: 'x' },
    { type: 'toolCall', arguments: {} },
  ),
);
const { content } = fc.letrec<{ content: unknown[]; block: unknown }>((tie) => ({
  block: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    { weight: 4, arbitrary: block },
    { weight: 1, arbitrary: tie('content').map((nested) => ({ type: 'toolResult', content: nested })) },
  ),
  content: fc.array(tie('block'), { minLength: 1, maxLength: 4 }),
}));
const entry: fc.Arbitrary<JsonObject> = fc.oneof(
  fc
    .tuple(fc.constantFrom('user', 'assistant', 'toolResult', 'toolResult'), fc.oneof(content, anyText))
    .map(([role, said]) => ({ type: 'message', message: { timestamp: 1, content: said, role } })),
  content.map((said) => ({ type: 'custom_message', content: said, display: true })),
  content.map((said) => ({ type: 'context_edit', targetId: 'x', replacement: { content: said } })),
  content.map((said) => ({ type: 'custom', data: said })),
);

describe('large parts of an entry', () => {
  test('taken out and put back are what they were, to the order of keys, whatever the entry', () => {
    let taken = 0;
    fc.assert(
      fc.property(entry, (given) => {
        const before = JSON.stringify(given);
        const { entry: short, blobs } = extract(given);
        taken += blobs.size;
        expect(JSON.stringify(given) === before, 'the given entry is only read').toBe(true);
        const names = blobNames([short]);
        for (const name of blobs.keys()) expect(names).toContain(name);
        for (const bytes of blobs.values()) expect(bytes.length).toBeGreaterThan(LIMIT);
        // What a file keeps of it.
        const stored = JSON.parse(JSON.stringify(short)) as JsonObject;
        const [whole] = hydrateBlobs([stored], blobs);
        expect(JSON.stringify(whole) === before, 'put back as it was').toBe(true);
        // Missing ones leave their preview, and nothing changes that needs no change.
        expect(hydrateBlobs([stored], new Map())[0]).toBe(stored);
        if (blobs.size === 0) expect(short).toBe(given);
      }),
      { numRuns: RUNS, seed: SEED },
    );
    expect(taken).toBeGreaterThan(RUNS / 8);
  });

  test('are images of any message and texts of tool results, over 64 KiB', () => {
    const image = (length: number): Entry =>
      message('user', [
        { type: 'image', data: Buffer.alloc(length, 1).toString('base64'), mimeType: 'image/gif' },
      ]);
    expect(extract(image(LIMIT)).blobs.size).toBe(0);
    expect(extract(image(LIMIT + 1)).blobs.size).toBe(1);
    expect(extract(result('é'.repeat(LIMIT / 2))).blobs.size).toBe(0);
    expect(extract(result('é'.repeat(LIMIT / 2 + 1))).blobs.size).toBe(1);
    const text = [{ type: 'text', text: 'x'.repeat(2 * LIMIT) }];
    for (const role of ['user', 'assistant', 'system'])
      expect(extract(message(role, text)).blobs.size).toBe(0);
    expect(extract(result(`\ud800${'x'.repeat(LIMIT)}`)).blobs.size).toBe(0);
  });

  test('leave a text that says what they are, cut between two characters', () => {
    for (const [unit, units] of [
      ['😀', 512],
      ['a😀', 410],
      ['字', 682],
      ['x', 2048],
    ] as const) {
      const { entry: short } = extract(result(unit.repeat(2 * LIMIT)));
      const [preview = '', note] = String(lastBlock(short)['text']).split('\n');
      expect(preview.isWellFormed()).toBe(true);
      expect(Buffer.byteLength(preview)).toBeLessThanOrEqual(2048);
      expect(Buffer.byteLength(preview)).toBeGreaterThan(2044);
      expect(preview.split(unit).length - 1, unit).toBeGreaterThanOrEqual(units - 1);
      expect(note).toMatch(/^\[the first 2 KiB of (\d+ kB|\d\.\d MB)\]$/);
    }
    const data = Buffer.alloc(1_234_567).toString('base64');
    const { entry: short } = extract(message('user', [{ type: 'image', data, mimeType: 'image/png' }]));
    expect(lastBlock(short)).toMatchObject({ type: 'text', text: '[image/png, 1.2 MB]', bytes: 1_234_567 });
    expect(isBlobReference(lastBlock(short))).toBe(true);
  });

  test('are images for a model when they are there, and a text when they are not', () => {
    const data = pngBase64(40, 40, LIMIT * 2);
    const given = message('user', [
      { type: 'text', text: 'see' },
      { type: 'image', data, mimeType: 'image/png' },
    ]);
    const { entry: short, blobs } = extract(given);
    const request = (entries: readonly Entry[]): unknown => rebuildHistory(entries, { format: 'anthropic' });
    expect(request(hydrateBlobs([short], blobs))).toEqual(request([given]));
    expect(JSON.stringify(request([given]))).toContain('"type":"image"');
    expect(JSON.stringify(request([short]))).toContain('[image/png, ');
    // A title is made from the text, wherever the picture is stored.
    expect(contentText((short['message'] as JsonObject)['content'])).toBe('see');
    const tool = extract(result('output '.repeat(LIMIT)));
    const call = { type: 'toolCall', id: 'c', name: 'run', arguments: {} };
    const calls = (entry: Entry): Entry[] =>
      [message('user', 'go'), message('assistant', [call]), entry].map(chained);
    expect(request(hydrateBlobs(calls(tool.entry), tool.blobs))).toEqual(
      request(calls(result('output '.repeat(LIMIT)))),
    );
    expect(JSON.stringify(request(calls(tool.entry)))).toContain('the first 2 KiB of 459 kB');
  });

  test('that are missing everywhere become plain text with the name of what is lost', () => {
    const { entry: short } = extract(result('x'.repeat(2 * LIMIT)));
    const [released] = releaseBlobs([short]);
    expect(blobNames([released ?? {}]).size).toBe(0);
    expect(lastBlock(released as Entry)).toMatchObject({ type: 'text', lostBlob: lastBlock(short)['blob'] });
  });

  test('have names that are safe as file names', () => {
    const hash = 'a'.repeat(64);
    expect([blobHash(hash), blobHash(`sha256:${hash}`)]).toEqual([hash, hash]);
    for (const name of ['', '../../x', `${hash}/`, `sha1:${hash}`, `sha256:${'A'.repeat(64)}`, `${hash}\n`])
      expect(() => blobHash(name)).toThrow('is not the name of a blob');
  });
});

function chained(entry: Entry, i: number): Entry {
  return { ...entry, id: `e${i}`, parentId: i === 0 ? null : `e${i - 1}` };
}
