import fc from 'fast-check';
import {
  encodeLine,
  entryIdForSeq,
  isSideEntry,
  type JsonObject,
} from '../../../../src/exports/transcript.ts';
import type { Entry } from '../../../../src/index.ts';
import { anyBody, type Body, quietBody } from './bodies.ts';
import { HEADER } from './sealed-file.ts';

/** A valid tree in a file: ids unique, parents earlier in the file, several roots allowed. */
export interface Tree {
  readonly content: string;
  readonly entries: readonly Entry[];
  readonly sealed: boolean;
  /** Lines without a seal in a sealed file. */
  readonly foreignLines: number;
  /** An entry to stand at besides the file's own leaf. */
  readonly standAt: string | undefined;
}

export interface Step {
  readonly body: Body;
  /** `line`: the line before, as pi chains; `leaf`: the last entry that is no side entry, as we do. */
  readonly parent: 'line' | 'leaf' | 'root' | number;
}

const parent = fc.oneof(
  { weight: 20, arbitrary: fc.constantFrom('line' as const, 'leaf' as const) },
  { weight: 2, arbitrary: fc.nat(50) },
  { weight: 1, arbitrary: fc.constant('root' as const) },
);
const move = fc.record({ body: quietBody, parent: fc.oneof({ weight: 8, arbitrary: fc.nat(50) }, parent) });

/** A file's entries in order. Every second file ends by moving somewhere else. */
export const steps: fc.Arbitrary<Step[]> = fc
  .record({
    steps: fc.array(fc.record({ body: anyBody, parent }), { maxLength: 30, size: 'max' }),
    move: fc.option(move, { freq: 2 }),
  })
  .map(({ steps, move }) => (move === null ? steps : [...steps, move]));

/** Entries with their ids and parents, in file order. */
export function placeEntries(steps: readonly Step[], idOf: (index: number) => string): Entry[] {
  const entries: Entry[] = [];
  const pathOf = new Map<string | null, readonly string[]>([[null, []]]);
  let leaf: string | null = null;
  for (const [i, { body, parent }] of steps.entries()) {
    const id = idOf(i);
    const earlier = entries.map((entry) => entry.id);
    const parentId = parentOf(parent, earlier, leaf);
    const ancestors = pathOf.get(parentId) ?? [];
    pathOf.set(id, [...ancestors, id]);
    const { type, ...fields } = body({ id, word: `<w${i}>`, earlier, ancestors });
    const timestamp = new Date(Date.UTC(2025, 0, 1) + i * 1000).toISOString();
    const entry = { type: String(type), id, parentId, timestamp, ...fields };
    entries.push(entry);
    if (!isSideEntry(entry)) leaf = id;
  }
  return entries;
}

function parentOf(choice: Step['parent'], earlier: readonly string[], leaf: string | null): string | null {
  if (choice === 'root') return null;
  if (choice === 'leaf') return leaf;
  if (choice === 'line') return earlier.at(-1) ?? null;
  return earlier[choice % earlier.length] ?? null;
}

/** Who wrote which line: all of it us, all of it others, or others in between. */
const layout = fc.record({
  kind: fc.constantFrom('sealed', 'mixed', 'plain'),
  foreign: fc.array(fc.boolean(), { minLength: 5, maxLength: 30, size: 'max' }),
  /** Lines per atomic append. */
  appends: fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 3, maxLength: 8 }),
  key: fc.option(fc.string({ maxLength: 6 })),
  named: fc.boolean(),
});
type Layout = typeof layout extends fc.Arbitrary<infer T> ? T : never;

export const trees: fc.Arbitrary<Tree> = fc
  .record({ steps, layout, standAt: fc.nat(50) })
  .map(({ steps, layout, standAt }) => {
    const foreign = steps.map((_, i) => isForeign(layout, i));
    let seq = 1;
    const seqs = foreign.map((isForeign) => (isForeign ? 0 : ++seq));
    const entries = placeEntries(steps, (i) => {
      if (seqs[i]) return entryIdForSeq(seqs[i]);
      // Other tools' ids may be any string; ours are never such ids because the bijection is one.
      return layout.named ? `line ${i}` : entryIdForSeq(1_000_000 + i);
    });
    const sealed = layout.kind !== 'plain';
    return {
      content: sealed ? sealedContent(entries, foreign, layout) : plainContent([HEADER, ...entries]),
      entries,
      sealed,
      foreignLines: sealed ? foreign.filter(Boolean).length : 0,
      standAt: entries[standAt % entries.length]?.id,
    };
  });

function isForeign({ kind, foreign }: Layout, i: number): boolean {
  return kind === 'plain' || (kind === 'mixed' && foreign[i % foreign.length] === true);
}

function plainContent(records: readonly JsonObject[]): string {
  return records.map((record) => `${JSON.stringify(record)}\n`).join('');
}

function sealedContent(
  entries: readonly Entry[],
  foreign: readonly boolean[],
  { appends, key }: Layout,
): string {
  let content = encodeLine(HEADER, { q: 1, e: 1, b: '1/1' });
  let q = 1;
  for (let i = 0, turn = 0; i < entries.length; turn++) {
    if (foreign[i]) {
      content += plainContent(entries.slice(i, ++i));
      continue;
    }
    // No other program writes into an append, so it ends before the next foreign line.
    const until = foreign.indexOf(true, i);
    const room = (until === -1 ? entries.length : until) - i;
    const n = Math.min(room, appends[turn % appends.length] ?? 1);
    for (const [place, entry] of entries.slice(i, i + n).entries()) {
      const seal = { q: ++q, e: 1 + turn, b: `${place + 1}/${n}`, ...(key !== null && { k: key }) };
      content += encodeLine(entry, seal);
    }
    i += n;
  }
  return content;
}
