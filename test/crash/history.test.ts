import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Attempt, createHistory, type History, textOf } from '../../testing/crash/history.ts';
import { assertClean, judgeHistory, type SeenEntry } from '../../testing/crash/judge.ts';

fc.configureGlobal({ seed: Number(process.env['REPRISE_PROPERTY_SEED'] ?? 7) });

const HEADER: SeenEntry = { seq: 1, entry: { type: 'session' } };
const OK = (firstSeq: number, lastSeq: number) => ({ n: 1, ok: true, firstSeq, lastSeq }) as const;
const REFUSED = { n: 1, ok: false, outcome: 'none' } as const;
const UNKNOWN = { n: 1, ok: false, outcome: 'unknown' } as const;

function entriesOf(attempt: Attempt): SeenEntry['entry'][] {
  return attempt.sizes.map((_, index) => ({
    type: 'message',
    message: { role: 'user', content: textOf(attempt, index) },
  }));
}

function numbered(entries: readonly SeenEntry['entry'][]): SeenEntry[] {
  return [HEADER, ...entries.map((entry, at) => ({ seq: at + 2, entry }))];
}

/** A session of acknowledged appends of these sizes, as a correct store holds it. */
function acknowledged(sizes: readonly (readonly number[])[]): [History, SeenEntry['entry'][]] {
  const history = createHistory();
  const entries: SeenEntry['entry'][] = [];
  for (const each of sizes) {
    const attempt = history.begin({ session: 's', sizes: each });
    const firstSeq = entries.length + 2;
    entries.push(...entriesOf(attempt));
    history.settle(attempt.key, OK(firstSeq, firstSeq + each.length - 1));
  }
  return [history, entries];
}

const judge = (history: History, seen: readonly SeenEntry[]) => judgeHistory(history, new Map([['s', seen]]));

const someAppends = fc.array(fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 4 }), {
  minLength: 2,
  maxLength: 8,
});

describe('the history checker', () => {
  test('has nothing to say about a store that keeps its word', () => {
    fc.assert(
      fc.property(someAppends, (sizes) => {
        const [history, entries] = acknowledged(sizes);
        const report = judge(history, numbered(entries));
        expect(report).toMatchObject({ acknowledged: sizes.length, findings: [] });
        assertClean(report);
      }),
    );
  });

  test.each<[string, (entries: SeenEntry['entry'][], at: number) => void, string]>([
    ['loses an entry', (entries, at) => entries.splice(at, 1), 'lost'],
    ['repeats an entry', (entries, at) => entries.splice(at, 0, { ...entries[at] }), 'duplicated'],
    ['moves the first entry', (entries) => entries.push(...entries.splice(0, 1)), 'misplaced'],
    ['adds an entry', (entries, at) => entries.splice(at, 0, { type: 'message', message: {} }), 'invented'],
    [
      'cuts a text short',
      (entries, at) => {
        const { message } = entries[at] as { message: { content: string } };
        entries[at] = { type: 'message', message: { content: message.content.slice(0, -1) } };
      },
      'invented',
    ],
  ])('notices a store that %s', (_, break_, fault) => {
    fc.assert(
      fc.property(someAppends, fc.nat(), (sizes, where) => {
        const [history, entries] = acknowledged(sizes);
        break_(entries, where % entries.length);
        const report = judge(history, numbered(entries));
        expect(report.findings.join('\n')).toContain(`${fault}: `);
        expect(() => assertClean(report)).toThrow(fault);
      }),
    );
  });

  test('wants a refused append to be absent', () => {
    const history = createHistory();
    const attempt = history.begin({ session: 's', sizes: [10] });
    history.settle(attempt.key, REFUSED);
    expect(judge(history, [HEADER])).toMatchObject({ refused: 1, findings: [] });
    expect(judge(history, numbered(entriesOf(attempt)))).toMatchObject({ refused: 1, invented: 1 });
  });

  test('takes an unknown append once, or not at all, but never twice or in part', () => {
    const history = createHistory();
    const attempt = history.begin({ session: 's', sizes: [10, 10] });
    history.settle(attempt.key, UNKNOWN);
    const both = entriesOf(attempt);
    expect(judge(history, [HEADER])).toMatchObject({ unknown: 1, landed: 0, findings: [] });
    expect(judge(history, numbered(both))).toMatchObject({ unknown: 1, landed: 1, findings: [] });
    expect(judge(history, numbered([...both, ...both]))).toMatchObject({ duplicated: 1 });
    expect(judge(history, numbered(both.slice(0, 1)))).toMatchObject({ lost: 1 });
    expect(judge(history, numbered(both.toReversed()))).toMatchObject({ misplaced: 1 });
  });

  test('wants an unknown append exactly once after its retry, and no refusal of the retry undoes it', () => {
    const history = createHistory();
    const attempt = history.begin({ session: 's', sizes: [10] });
    history.settle(attempt.key, UNKNOWN);
    expect(history.settle(attempt.key, REFUSED).outcome).toBe('unknown');
    expect(history.unknown()).toHaveLength(1);
    history.settle(attempt.key, OK(2, 2));
    expect(history.unknown()).toHaveLength(0);
    expect(judge(history, numbered(entriesOf(attempt)))).toMatchObject({ acknowledged: 1, findings: [] });
    expect(judge(history, [HEADER])).toMatchObject({ lost: 1 });
  });

  test('notices a retry that is answered with other seqs', () => {
    const [history, entries] = acknowledged([[10]]);
    history.settle('a1', OK(3, 3));
    expect(judge(history, numbered(entries))).toMatchObject({ misplaced: 1 });
  });

  test('notices a gap in the seqs and a session that is gone', () => {
    const [history, entries] = acknowledged([[10], [10]]);
    const gap = numbered(entries).map((seen) => (seen.seq === 3 ? { ...seen, seq: 4 } : seen));
    expect(judge(history, gap).findings.join('\n')).toContain('seq 4 where 3 was due');
    expect(judge(history, [])).toMatchObject({ lost: 2 });
  });

  test('notices an append that overtook one acknowledged before it began', () => {
    const history = createHistory();
    const first = history.begin({ session: 's', sizes: [10] });
    history.settle(first.key, OK(3, 3));
    const second = history.begin({ session: 's', sizes: [10] });
    history.settle(second.key, OK(2, 2));
    const report = judge(history, numbered([...entriesOf(second), ...entriesOf(first)]));
    expect(report).toMatchObject({ lost: 0, duplicated: 0, misplaced: 1 });
  });

  test('knows by their places whether appends are in order that were acknowledged without numbers', () => {
    const history = createHistory();
    const first = history.begin({ session: 's', sizes: [10] });
    history.settle(first.key, { n: 1, ok: true });
    const second = history.begin({ session: 's', sizes: [10] });
    history.settle(second.key, { n: 1, ok: true });
    const both = [...entriesOf(first), ...entriesOf(second)];
    expect(judge(history, numbered(both))).toMatchObject({ acknowledged: 2, findings: [] });
    expect(judge(history, numbered(both.toReversed()))).toMatchObject({ misplaced: 1, lost: 0 });
    expect(judge(history, numbered(both.slice(1)))).toMatchObject({ lost: 1, misplaced: 0 });
  });

  test('does not mind what the store says about a session beside the conversation', () => {
    const [history, entries] = acknowledged([[10]]);
    const side = { type: 'custom', customType: 'reprise.settings' };
    expect(judge(history, numbered([...entries, side])).findings).toEqual([]);
    expect(judge(history, numbered([...entries, { type: 'compaction' }]))).toMatchObject({ invented: 1 });
  });
});
