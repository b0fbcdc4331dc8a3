import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type SseMessage, SseParser } from '../../src/client/sse-parser.ts';
import { RepriseError } from '../../src/errors.ts';
import { cpuTimer } from '../support/engine/time-spent.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

function parse(...chunks: readonly Uint8Array[]): SseMessage[] {
  const parser = new SseParser();
  return chunks.flatMap((chunk) => parser.feed(chunk));
}

/** The same bytes in any pieces. */
function pieces(all: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const places = [...new Set(cuts.map((cut) => cut % (all.length + 1)))].sort((a, b) => a - b);
  return [0, ...places].map((from, i) => all.subarray(from, places[i] ?? all.length));
}

describe('the parser of event streams', () => {
  test.each([
    ['LF', 'id: 1\ndata: a\n\ndata: b\n\n'],
    ['CR', 'id: 1\rdata: a\r\rdata: b\r\r'],
    ['CRLF', 'id: 1\r\ndata: a\r\n\r\ndata: b\r\n\r\n'],
    ['a mixture', 'id: 1\r\ndata: a\r\n\ndata: b\n\r'],
    ['a BOM', '\ufeffid: 1\ndata: a\n\ndata: b\n\n'],
    ['comments and fields nobody knows', ': hi\nid: 1\nfoo: x\nfoo\ndata: a\n\n:\n\nretry: 5\ndata:b\n\n'],
  ])('reads %s, in whatever pieces', (_, text) => {
    const expected = [
      { id: '1', event: 'message', data: 'a' },
      { id: '1', event: 'message', data: 'b' },
    ];
    const all = bytes(text);
    expect(parse(all)).toEqual(expected);
    expect(parse(...[...all].map((byte) => Uint8Array.of(byte)))).toEqual(expected);
    for (let cut = 0; cut <= all.length; cut++)
      expect(parse(all.subarray(0, cut), new Uint8Array(), all.subarray(cut))).toEqual(expected);
  });

  test('joins characters that were cut in two', () => {
    const all = bytes('data: é漢🙂\n\n');
    for (let cut = 0; cut <= all.length; cut++)
      expect(parse(all.subarray(0, cut), all.subarray(cut))[0]?.data).toBe('é漢🙂');
  });

  test('joins lines of data, keeps a second space, and ignores an id with a NUL', () => {
    const text = 'id: 7\ndata:  a\ndata\ndata: b\n\nid: x\0y\ndata: c\n\nid\ndata: d\n\n';
    expect(parse(bytes(text))).toEqual([
      { id: '7', event: 'message', data: ' a\n\nb' },
      { id: '7', event: 'message', data: 'c' },
      { id: '', event: 'message', data: 'd' },
    ]);
  });

  test('T68 any bytes in any pieces give the same messages, or one typed error', () => {
    const noise = fc.oneof(
      fc.uint8Array({ maxLength: 200 }),
      fc
        .array(
          fc.constantFrom(
            'data: ',
            'id: ',
            'event:',
            'retry: ',
            '\n',
            '\r',
            '\r\n',
            ':',
            '\0',
            '\ufeff',
            '🙂',
            'x',
          ),
        )
        .map((parts) => bytes(parts.join(''))),
    );
    const clean = Object.getOwnPropertyNames(Object.prototype).length;
    fc.assert(
      fc.property(noise, fc.array(fc.nat(), { maxLength: 8 }), (all, cuts) => {
        try {
          expect(parse(...pieces(all, cuts))).toEqual(parse(all));
        } catch (error) {
          if (!(error instanceof RepriseError)) throw error;
        }
      }),
      { numRuns: 3000, seed: 68 },
    );
    expect(Object.getOwnPropertyNames(Object.prototype)).toHaveLength(clean);
  });

  test('a message without end is refused, and takes no time that grows with earlier input', () => {
    const parser = new SseParser();
    const chunk = new Uint8Array(1024 * 1024).fill(120);
    const spent = cpuTimer();
    expect(() => {
      for (let i = 0; i < 70; i++) parser.feed(chunk);
    }).toThrow(expect.objectContaining({ code: 'LIMIT_EXCEEDED' }));
    expect(spent()).toBeLessThan(20_000);
  });
});
