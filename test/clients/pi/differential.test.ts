import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseTranscript } from '../../../src/exports/transcript.ts';
import { ourContext } from './support/contexts.ts';
import { piContextOf } from './support/pi.ts';
import { classesOf, TREE_CLASSES } from './support/tree-classes.ts';
import { trees } from './support/trees.ts';

const RUNS = Number(process.env['REPRISE_PROPERTY_RUNS'] ?? 10_000);
const SEED = Number(process.env['REPRISE_PROPERTY_SEED'] ?? 20250101);
const TIMEOUT = 60_000 + RUNS * 20;

describe('any valid tree', () => {
  test('gives pi and us the same context, at its own leaf and at any other entry', {
    timeout: TIMEOUT,
  }, () => {
    const met = new Map<string, number>(TREE_CLASSES.map((name) => [name, 0]));
    let runs = 0;
    fc.assert(
      fc.property(trees, (tree) => {
        const { content, entries, sealed, foreignLines, standAt } = tree;
        runs++;
        for (const name of classesOf(tree)) met.set(name, (met.get(name) ?? 0) + 1);

        const { issues, ...transcript } = parseTranscript(content);
        expect(transcript.sealed).toBe(sealed);
        expect(transcript.entries.map(({ id }) => id)).toEqual(entries.map(({ id }) => id));
        const foreign = foreignLines > 0 ? [['foreign-line', foreignLines]] : [];
        expect([...issues.counts].filter(([kind]) => kind !== 'inexact-number')).toEqual(foreign);

        expect(ourContext(transcript.entries)).toEqual(piContextOf(content));
        if (standAt === undefined) return;
        expect(ourContext(transcript.entries, standAt)).toEqual(piContextOf(content, standAt));
      }),
      { numRuns: RUNS, seed: SEED },
    );
    const table = [...met].map(([name, count]) => `${name}: ${((100 * count) / runs).toFixed(1)} %`);
    console.log(`${runs} trees by class: ${table.join(', ')}`);
    for (const [name, count] of met) expect(count / runs, `trees of class "${name}"`).toBeGreaterThan(0.02);
  });
});
