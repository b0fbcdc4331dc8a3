import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

/*
 * Limits that keep the project readable. Raise one only in a commit that says why. Limits of single folders and pages
 * are in architecture.test.ts and docs.test.ts.
 */

/** Lines of TypeScript per folder. */
const LINES: Readonly<Record<string, number>> = {
  'src/ai-sdk': 500,
  'src/cli': 10200,
  'src/client': 1200,
  'src/compaction': 1200,
  'src/config': 2500,
  'src/context': 1550,
  'src/engine': 15500,
  'src/exports': 450,
  'src/interop': 9600,
  'src/keys': 600,
  'src/mcp': 850,
  'src/messages': 3650,
  'src/models': 2450,
  'src/protocol': 2350,
  'src/server': 6800,
  'src/store': 26900,
  'src/transcript': 5550,
  testing: 11150,
  'web/src': 10950,
};

const FILES_IN_SRC = 810;

/** Operations of the store port: methods of `Store` and of the parts that it consists of. */
const PORT_OPERATIONS = 46;

/**
 * Words of an earlier private vocabulary, with the words to use instead.
 */
const ODD_WORDS: readonly (readonly [RegExp, string])[] = [
  [/\b(?:un)?told\b|\btell(?:s|ing)?\b/i, 'report, show, emit, notify, return'],
  [/\bwho(?:m)?ever\b/i, 'the caller, the client, the runner, another process'],
  [/\b(?:nobody|somebody|everybody|anybody)\b/i, 'no client, another process, all listeners'],
  [/\bgo(?:es|ing)? on\b|\bwent on\b/i, 'continue, resume'],
  [/\bsum(?:s|med|ming)? up\b/i, 'summarize, compact'],
  [/\bt(?:ak(?:e|es|en|ing)|ook) back\b/i, 'undo'],
  [/\banew\b/i, 'again, rebuild, restart'],
  [/\bwhat (?:is|was|are) (?:there|here)\b/i, 'the name of the thing'],
  [/\b(?:is|are) none\b/i, 'is not a …'],
  [/\bsaid\b/i, 'sent, stored, reported'],
];

/** Folders and files in which such words are right: prompts for models, and a model that chats. */
const CORRECT: readonly RegExp[] = [
  /^src\/models\/offline\//,
  /^src\/compaction\/(?:make-compaction|prompts|summarize)\.ts$/,
  /^src\/engine\/(?:agents\/subagent(?:s|-run)|tools\/file-tools|window\/memory-flush)\.ts$/,
  /^src\/(?:mcp\/quoted-history|messages\/english\/english-tools|transcript\/render\/carrier)\.ts$/,
];

/** Not reworded yet. Remove a file from this list when it is. */
const UNCHANGED: ReadonlySet<string> = new Set([
  'src/engine/schedule/session-lane.ts',
  'src/engine/schedule/session-runner.ts',
  'src/engine/schedule/turn-plan.ts',
  'src/engine/turn/pair-entries.ts',
  'src/engine/turn/recovery.ts',
  'src/engine/turn/run-item.ts',
  'src/engine/turn/running-turn.ts',
  'src/engine/turn/tool-round.ts',
  'src/engine/turn/turn-settings.ts',
  'src/engine/turn/turn-store.ts',
  'src/engine/turn/turn.ts',
]);

function filesIn(folder: string, pattern: RegExp): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(
      (entry) => entry.isFile() && pattern.test(entry.name) && !/node_modules|dist/.test(entry.parentPath),
    )
    .map((entry) => join(entry.parentPath, entry.name));
}

const linesOf = (file: string): string[] => readFileSync(file, 'utf8').split('\n');

/** The comments and sentences of a line of code. */
function proseOf(line: string): string {
  const comment = /(?:^|\s)(?:\/\/|\/?\*+)\s?(.*)$/.exec(line)?.[1] ?? '';
  const sentences = [...line.matchAll(/'((?:[^'\\]|\\.)*)'|`((?:[^`\\]|\\.)*)`/g)]
    .map(([, single = '', template = '']) => single || template)
    .filter((text) => text.includes(' '));
  return [comment, ...sentences].join(' ');
}

function oddLines(folder: string): string[] {
  const files = filesIn(folder, /\.tsx?$/).filter(
    (file) => !UNCHANGED.has(file) && !CORRECT.some((right) => right.test(file)),
  );
  return files.flatMap((file) =>
    linesOf(file).flatMap((line, index) => {
      const prose = proseOf(line);
      const odd = ODD_WORDS.find(([word]) => word.test(prose));
      if (odd === undefined) return [];
      return [`${file}:${index + 1}: ${prose.trim()} (better: ${odd[1]})`];
    }),
  );
}

describe('budgets', () => {
  test.each(Object.entries(LINES))('%s has at most %d lines', (folder, most) => {
    const lines = filesIn(folder, /\.tsx?$/).reduce((sum, file) => sum + linesOf(file).length, 0);
    expect(lines).toBeGreaterThan(most / 2);
    expect(lines).toBeLessThanOrEqual(most);
  });

  test('src has few enough files to find the right one', () => {
    expect(filesIn('src', /\.ts$/).length).toBeLessThanOrEqual(FILES_IN_SRC);
  });

  test('the store port has few enough operations to implement it', () => {
    const operations = filesIn('src/store/port', /\.ts$/).flatMap((file) => {
      const source = readFileSync(file, 'utf8');
      return [
        ...source.matchAll(
          /^export interface (?:Store|Inbox|Convlog|Notes|Transfer|Turns)\b[^{]*\{([\s\S]*?)^\}/gm,
        ),
      ].flatMap(([, body = '']) =>
        [...body.matchAll(/^ {2}(\w+)(?:<[^(]*)?\(/gm)].map(([, name]) => `${file}: ${name}`),
      );
    });
    expect(operations.length).toBeGreaterThan(20);
    expect(operations.length).toBeLessThanOrEqual(PORT_OPERATIONS);
  });

  test('comments and texts use the words of the field', () => {
    expect(['src', 'web/src', 'testing', 'bin'].flatMap(oddLines)).toEqual([]);
  });

  test('an odd word would be noticed', () => {
    expect(ODD_WORDS.some(([word]) => word.test(proseOf('  // Whoever waits is told.')))).toBe(true);
    expect(ODD_WORDS.some(([word]) => word.test(proseOf("const told = 'a';")))).toBe(false);
  });
});
