import fc from 'fast-check';
import { expect, test } from 'vitest';
import { entryIdForSeq, IssueLog, type JsonObject, parseTranscript } from '../../src/exports/transcript.ts';
import { createTranscriptChecker } from '../../src/transcript/check.ts';
import { canonicalEntries } from '../../src/transcript/dialects/canonical.ts';
import { createEntryCollector } from '../../src/transcript/dialects/collect.ts';
import { sealJson } from '../../src/transcript/seal.ts';

const time = '2025-01-01T00:00:00.000Z';
const ids = fc.integer({ min: 2, max: 12 }).map(entryIdForSeq);
const canonical: fc.Arbitrary<JsonObject> = fc.oneof(
  fc.record({
    type: fc.constant('message'),
    id: ids,
    parentId: fc.option(ids),
    timestamp: fc.constant(time),
    message: fc.record({ role: fc.constantFrom('user', 'assistant'), content: fc.string({ maxLength: 5 }) }),
  }),
  fc.record({
    type: fc.constant('compaction'),
    id: ids,
    parentId: fc.option(ids),
    timestamp: fc.constant(time),
    summary: fc.constant('s'),
    firstKeptEntryId: fc.oneof(ids, fc.constantFrom('msg-1', 'msg-2', 'nowhere')),
  }),
  fc.record({ type: fc.constant('session'), version: fc.constantFrom(2, 3), id: fc.constant('s1') }),
);
const other: fc.Arbitrary<JsonObject> = fc.constantFrom<JsonObject>(
  { type: 'user', content: 'flat', ts: 1 },
  { type: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'n', input: {} }], ts: 2 },
  { type: 'message', timestamp: 5, message: { role: 'user', content: 'no id' } },
  { type: 'compaction', id: 'c1', parentId: null, timestamp: time, summary: 's', firstKeptEntryIndex: 1 },
  { role: 'user', content: 'a row' },
  { what: 'is this' },
);
const place = (record: JsonObject, line: number) => ({ record, seal: undefined, line, offset: line * 10 });

test('entries that are gathered as they come are those of the whole file, whatever dialects it mixes', () => {
  const records = fc.oneof(
    fc.array(canonical, { maxLength: 12 }),
    fc.array(fc.oneof({ weight: 5, arbitrary: canonical }, { weight: 1, arbitrary: other }), {
      maxLength: 12,
    }),
  );
  fc.assert(
    fc.property(records, (all) => {
      const [issues, expectedIssues] = [new IssueLog(), new IssueLog()];
      const collector = createEntryCollector(issues);
      for (const [i, record] of all.entries()) collector.add(place(record, i + 1));
      const expected = canonicalEntries(
        all.map((record, i) => place(record, i + 1)),
        expectedIssues,
      );
      expect(collector.finish()).toEqual(expected);
      expect(issues.examples).toEqual(expectedIssues.examples);
    }),
    { numRuns: 3000, seed: 7 },
  );
});

test('a check finds in any bytes what a reader finds, and counts the same entries', () => {
  const header = sealJson(
    JSON.stringify({ type: 'session', version: 3, id: 's1', timestamp: time, cwd: '/' }),
    {
      q: 1,
      e: 0,
      b: '1/1',
    },
  );
  const line = (q: number): string =>
    sealJson(
      JSON.stringify({
        type: 'message',
        id: entryIdForSeq(q),
        parentId: null,
        timestamp: time,
        message: { role: 'user', content: `${q}` },
      }),
      { q, e: 0, b: '1/1' },
    );
  const lines = fc.array(
    fc.oneof(
      { weight: 6, arbitrary: fc.integer({ min: 2, max: 9 }).map(line) },
      {
        weight: 1,
        arbitrary: fc.constantFrom('', 'garbage', '{"half":', `${line(3).slice(0, -3)}0}}`, '{"n":1e400}'),
      },
    ),
    { maxLength: 10 },
  );
  fc.assert(
    fc.property(lines, fc.integer({ min: 1, max: 50 }), (some, chunk) => {
      const bytes = Buffer.from([header, ...some].join('\n'));
      const checker = createTranscriptChecker({ sessionId: 's1' });
      for (let at = 0; at < bytes.length; at += chunk) checker.push(bytes.subarray(at, at + chunk));
      const { entries, sealed, issues } = checker.finish();
      const transcript = parseTranscript(bytes, { sessionId: 's1' });
      expect({ entries, sealed, issues: inFileOrder(issues) }).toEqual({
        entries: transcript.entries.length,
        sealed: true,
        issues: inFileOrder(transcript.issues),
      });
    }),
    { numRuns: 500, seed: 7 },
  );
});

/** Unknown records are met at once by a check, and at the end by a reader. */
function inFileOrder({ examples }: IssueLog): unknown[] {
  const place = ({ line = 0, kind }: (typeof examples)[number]): string =>
    `${String(line).padStart(9)} ${kind}`;
  return examples.toSorted((a, b) => (place(a) < place(b) ? -1 : 1));
}
