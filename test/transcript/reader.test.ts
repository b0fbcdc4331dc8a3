import { describe, expect, test } from 'vitest';
import {
  createTranscriptReader,
  encodeLine,
  entryIdForSeq,
  type IssueKind,
  parseTranscript,
  type Transcript,
} from '../../src/exports/transcript.ts';
import type { RepriseError } from '../../src/index.ts';

const ID = 'session-1';
const HEADER = { type: 'session', version: 3, id: ID, timestamp: '2025-01-01T00:00:00.000Z', cwd: '/x' };

interface LineOptions {
  readonly epoch?: number;
  readonly place?: string;
}

function header(): string {
  return encodeLine(HEADER, { q: 1, e: 1, b: '1/1' });
}

function line(q: number, { epoch = 1, place = '1/1' }: LineOptions = {}): string {
  const message = { role: 'user', content: `message ${q}`, epoch };
  const entry = {
    type: 'message',
    id: entryIdForSeq(q),
    parentId: q === 2 ? null : entryIdForSeq(q - 1),
    timestamp: '2025-01-01T00:00:00.000Z',
    message,
  };
  return encodeLine(entry, { q, e: epoch, b: place });
}

function texts(transcript: Transcript): unknown[] {
  return transcript.entries.map(
    (entry) => (entry['message'] as { content?: unknown } | undefined)?.content ?? entry.type,
  );
}

function kinds(transcript: Transcript): Record<string, number> {
  return Object.fromEntries(transcript.issues.counts);
}

const numbered = (...numbers: number[]): string[] => numbers.map((n) => `message ${n}`);

describe('I-4 what is history in a file we wrote', () => {
  test('a clean file is all history and nothing is reported', () => {
    const transcript = parseTranscript(header() + line(2) + line(3) + line(4));
    expect(texts(transcript)).toEqual(numbered(2, 3, 4));
    expect(kinds(transcript)).toEqual({});
    expect(transcript).toMatchObject({ sealed: true, corruptAt: undefined });
  });

  test('S2 cut at every byte of the last record: all earlier ones are read, the fragment is torn', () => {
    const whole = Buffer.from(header() + line(2) + line(3) + line(4));
    const lastLine = Buffer.byteLength(line(4));
    for (let cut = 2; cut <= lastLine; cut++) {
      const transcript = parseTranscript(whole.subarray(0, whole.length - cut));
      expect(texts(transcript)).toEqual(numbered(2, 3));
      if (cut < lastLine) expect(kinds(transcript)).toMatchObject({ 'torn-tail': 1 });
      expect(transcript.corruptAt).toBeUndefined();
    }
    // Only the LF is missing: the seal vouches for the record, so it is history.
    expect(texts(parseTranscript(whole.subarray(0, -1)))).toEqual(numbered(2, 3, 4));
  });

  test('T01c an append of five lines is all there or not at all', () => {
    const five = [1, 2, 3, 4, 5].map((i) => line(2 + i, { place: `${i}/5` }));
    for (let kept = 0; kept <= 5; kept++) {
      const transcript = parseTranscript(header() + line(2) + five.slice(0, kept).join(''));
      expect(texts(transcript)).toEqual(kept === 5 ? numbered(2, 3, 4, 5, 6, 7) : numbered(2));
      expect(transcript.issues.count('torn-tail')).toBe(kept === 0 || kept === 5 ? 0 : 1);
    }
  });

  test('T15 a flipped byte in the middle is damage at that offset, and everything else stays readable', () => {
    const bytes = Buffer.from(header() + line(2) + line(3) + line(4));
    const offset = Buffer.byteLength(header() + line(2));
    const at = bytes.indexOf('message 3');
    bytes[at] = 0x4d; // "Message 3": still JSON, no longer what was sealed
    const transcript = parseTranscript(bytes);
    expect(transcript.corruptAt).toBe(offset);
    expect(texts(transcript)).toEqual(numbered(2, 4));
    expect(kinds(transcript)).toMatchObject({ 'broken-seal': 1, corrupt: 1 });
  });

  test('damage inside an append of several lines leaves its other lines readable', () => {
    const three = [1, 2, 3].map((i) => line(2 + i, { place: `${i}/3` }));
    const bytes = Buffer.from(header() + line(2) + three.join('') + line(6));
    bytes[bytes.indexOf('message 4')] = 0x4d;
    const transcript = parseTranscript(bytes);
    expect(texts(transcript)).toEqual(numbered(2, 3, 5, 6));
    expect(transcript.corruptAt).toBe(Buffer.byteLength(header() + line(2) + three[0]));
  });

  test('NUL bytes and garbage at the end are torn, in the middle with nothing missing they are skipped', () => {
    const nuls = '\u0000'.repeat(636);
    expect(kinds(parseTranscript(header() + line(2) + nuls))).toMatchObject({
      'torn-tail': 1,
      'not-a-record': 1,
    });
    const transcript = parseTranscript(`${header()}${line(2)}garbage\n${line(3)}`);
    expect(texts(transcript)).toEqual(numbered(2, 3));
    expect(transcript.corruptAt).toBeUndefined();
    expect(kinds(transcript)).toEqual({ 'not-a-record': 1 });
  });

  test('a missing line is damage even where every line that is there verifies', () => {
    const transcript = parseTranscript(header() + line(2) + line(5));
    expect(texts(transcript)).toEqual(numbered(2, 5));
    expect(transcript.corruptAt).toBe(Buffer.byteLength(header() + line(2)));
    expect(transcript.issues.examples[0]?.detail).toContain('lines 3 to 4');
  });

  test('T32 a line of a writer that lost its lease is no history', () => {
    const transcript = parseTranscript(
      header() +
        line(2, { epoch: 2 }) +
        line(3, { epoch: 1 }) +
        line(3, { epoch: 2 }) +
        line(2, { epoch: 2 }),
    );
    expect(texts(transcript)).toEqual(numbered(2, 3));
    expect(transcript.entries.map((entry) => (entry['message'] as { epoch: number }).epoch)).toEqual([2, 2]);
    expect(kinds(transcript)).toEqual({ 'stale-line': 2 });
  });

  test('lines of other tools are accepted and counted', () => {
    const foreign = JSON.stringify({
      type: 'message',
      id: 'pi1',
      parentId: entryIdForSeq(2),
      timestamp: '2025-01-01T00:00:00.000Z',
      message: { role: 'user', content: 'from pi' },
    });
    const transcript = parseTranscript(`${header()}${line(2)}${foreign}\n${line(3)}`);
    expect(texts(transcript)).toEqual(['message 2', 'from pi', 'message 3']);
    expect(kinds(transcript)).toEqual({ 'foreign-line': 1 });
  });

  test('under a header that is not ours, or of another session, seals are ignored', () => {
    const forked = `${JSON.stringify({ ...HEADER, id: 'fork' })}\n${line(7)}${line(3)}`;
    expect(parseTranscript(forked)).toMatchObject({ sealed: false, corruptAt: undefined });
    expect(texts(parseTranscript(forked))).toEqual(numbered(7, 3));
    expect(parseTranscript(header() + line(2), { sessionId: 'other' }).sealed).toBe(false);
    expect(parseTranscript(header() + line(2), { sessionId: ID }).sealed).toBe(true);
  });
});

describe('reading', () => {
  test('gives the same result however the bytes arrive', () => {
    const bytes = Buffer.from(
      `\ufeff${header()}${line(2)}\r\n  \n${JSON.stringify({ type: 'user', content: 'é💬', ts: 1 })}\r\n${line(3)}`,
    );
    const whole = parseTranscript(bytes);
    for (const size of [1, 2, 3, 7, 64]) {
      const reader = createTranscriptReader();
      for (let at = 0; at < bytes.length; at += size) {
        const chunk = Buffer.from(bytes.subarray(at, at + size));
        reader.push(chunk);
        chunk.fill(0); // a stream may reuse its buffer
      }
      const split = reader.finish();
      expect(split.entries).toEqual(whole.entries);
      expect(kinds(split)).toEqual(kinds(whole));
    }
  });

  test('T64 a line over the limit is skipped by length without being kept in memory', () => {
    const limits = { maxRecordBytes: 1000, maxDepth: 256 };
    const reader = createTranscriptReader({ limits });
    reader.push(Buffer.from(header()));
    const before = process.memoryUsage().arrayBuffers;
    const chunk = Buffer.alloc(1 << 20, 'x');
    for (let i = 0; i < 200; i++) reader.push(chunk);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(10 * (1 << 20));
    reader.push(Buffer.from(`\n${line(2)}`));
    const transcript = reader.finish();
    expect(texts(transcript)).toEqual(numbered(2));
    expect(transcript.issues.examples[0]).toMatchObject({
      kind: 'too-long',
      line: 2,
      detail: `${200 * (1 << 20)} bytes skipped`,
    });
  });

  test.each([
    ['empty', ''],
    ['blank', '\n\n  \n'],
    ['a program', '#!/bin/sh\necho hello\n'],
    ['a JSON document', '{\n  "name": "x",\n  "version": "1"\n}\n'],
    ['a log of something else', '{"level":"info","msg":"x"}\n{"level":"warn","msg":"y"}\n'],
    ['an array per line', '[1,2]\n[3]\n'],
    ['binary', '\u0000\u0001\u0002\u0003'],
  ])('a file that is no session is refused with a code: %s', (_what, content) => {
    expect(() => parseTranscript(content)).toThrow(
      expect.objectContaining({ code: 'INVALID_INPUT', exitCode: 2 }) as RepriseError,
    );
  });

  test('a file of a newer version is read and reported', () => {
    const transcript = parseTranscript(
      `${JSON.stringify({ ...HEADER, version: 9 })}\n{"type":"user","content":"hi","ts":1}\n`,
    );
    expect(kinds(transcript)).toEqual({ 'newer-version': 1 });
    expect(transcript.entries).toHaveLength(1);
  });

  test('a second header is reported and does not restart the session', () => {
    const transcript = parseTranscript(
      `${JSON.stringify(HEADER)}\n{"type":"user","content":"a","ts":1}\n${JSON.stringify({ ...HEADER, id: 'b' })}\n{"type":"user","content":"b","ts":2}\n`,
    );
    expect(transcript.header?.id).toBe(ID);
    expect(transcript.entries).toHaveLength(2);
    expect(kinds(transcript)).toEqual({ 'extra-header': 1 });
  });

  test('a million lines of garbage cost counters, not memory', () => {
    const reader = createTranscriptReader();
    reader.push(Buffer.from(`${JSON.stringify(HEADER)}\n`));
    for (let i = 0; i < 100; i++) reader.push(Buffer.from('garbage\n'.repeat(10_000)));
    const { issues } = reader.finish();
    expect(issues.count('not-a-record' satisfies IssueKind)).toBe(1_000_000);
    expect(issues.examples.length).toBeLessThan(30);
  });
});
