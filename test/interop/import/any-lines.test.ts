import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isObject } from '../../../src/transcript/json.ts';
import {
  entriesOf,
  everySession,
  freshFolder,
  freshStore,
  importFrom,
} from '../../support/store/interop-home.ts';
import { claudeLines, codexLines, geminiLines, WORDS } from '../../support/store/tool-homes.ts';

const RUNS = Number(process.env['REPRISE_PROPERTY_RUNS'] ?? 8);
const SOURCES: Readonly<Record<string, { readonly name: string; readonly lines: () => readonly object[] }>> =
  {
    'Claude Code': { name: 'aaaaaaaa-1111-4222-8333-444444444444.jsonl', lines: claudeLines },
    Codex: {
      name: 'rollout-2026-01-02T03-04-00-01a1de21-3c36-7b93-b2fb-2d008ef25112.jsonl',
      lines: codexLines,
    },
    'Gemini CLI': { name: 'session-2026-01-02T03-04-gemini.jsonl', lines: geminiLines },
  };
/** What happens to a line: it stays, is cut, comes twice, is of another tool, is no JSON, or is lost. */
const CHANGES = ['stays', 'cut', 'twice', 'foreign', 'noise', 'lost'] as const;

describe.each(Object.entries(SOURCES))('lines of %s in any state', (_, { name, lines }) => {
  test('are imported with words and times, or refused; what is dropped is counted; again adds nothing', async () => {
    const records = lines().map((record) => JSON.stringify(record));
    const n = records.length;
    const changes = fc.array(fc.constantFrom(...CHANGES), { minLength: n, maxLength: n });
    const order = fc.shuffledSubarray([...records.keys()], { minLength: n, maxLength: n });
    await fc.assert(
      fc.asyncProperty(changes, order, fc.boolean(), async (each, shuffled, isShuffled) => {
        let broken = 0;
        let foreign = 0;
        // The first line stays, so that the tool is known.
        const text = (isShuffled ? shuffled : [...records.keys()]).flatMap((at) => {
          const record = records[at] ?? '';
          const change = at === 0 ? 'stays' : each[at];
          if (change === 'lost') return [];
          if (change === 'twice') return [record, record];
          if (change === 'cut' || change === 'noise') broken++;
          if (change === 'cut') return [record.slice(0, record.length / 2)];
          if (change === 'noise') return ['not json {{{'];
          if (change !== 'foreign') return [record];
          foreign++;
          return [JSON.stringify({ type: 'of-another-tool', n: at })];
        });
        const path = join(freshFolder(), name);
        writeFileSync(path, `${records[0]}\n${text.join('\n')}\n`);
        const store = await freshStore();
        const plans = await importFrom(store, path).then(
          ({ sessions }) => sessions,
          (error: { code?: string }) => {
            expect(error.code).toBe('INVALID_INPUT');
            return [];
          },
        );
        for (const plan of plans) {
          if (plan.action !== 'new') {
            expect(plan.action).toBe('unreadable');
            continue;
          }
          const dropped = Object.entries(plan.loss.dropped).filter(([kind]) =>
            kind.startsWith('line that is no record'),
          );
          expect(dropped.reduce((sum, [, { count }]) => sum + count, 0)).toBe(broken);
          expect(plan.loss.raw['of-another-tool']?.count ?? 0).toBe(foreign);
          const spoken = (await entriesOf(store, plan.id)).filter(({ type }) => type === 'message');
          for (const { message, copiedAt } of spoken) {
            expect(String(copiedAt)).toMatch(/^2026-01-02T/);
            const { content } = message as { content: unknown };
            expect(content === '' || (Array.isArray(content) && content.length === 0)).toBe(false);
            for (const block of Array.isArray(content) ? content : [content]) {
              const words: unknown = isObject(block) ? block['text'] : block;
              if (typeof words === 'string') expect([...WORDS, 'a slip']).toContain(words);
            }
          }
        }
        const before = (await everySession(store)).map(({ id, lastSeq }) => `${id} ${lastSeq}`);
        const again = await importFrom(store, path).then(
          ({ sessions }) => sessions,
          () => [],
        );
        for (const { action } of again) expect(['unchanged', 'unreadable']).toContain(action);
        expect((await everySession(store)).map(({ id, lastSeq }) => `${id} ${lastSeq}`)).toEqual(before);
      }),
      { numRuns: RUNS },
    );
  });
});
