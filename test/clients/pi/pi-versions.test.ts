import { readFileSync, writeFileSync } from 'node:fs';
import { SessionManager } from '@mariozechner/pi-coding-agent';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseTranscript } from '../../../src/exports/transcript.ts';
import { ourContext, piContext } from './support/contexts.ts';
import { filesV1, filesV2, filesV3 } from './support/old-pi.ts';
import { openTempDir } from './support/temp-dir.ts';

const RUNS = Number(process.env['REPRISE_PROPERTY_RUNS'] ?? 1000);
const SEED = Number(process.env['REPRISE_PROPERTY_SEED'] ?? 20250101);
const TIMEOUT = 60_000 + RUNS * 20;

const VERSIONS = [
  {
    version: 'v1',
    files: filesV1,
    dialect: 'pi-v1',
    classes: [
      'compaction',
      'keeps from a line before',
      'keeps from a line that is not before',
      'keeps from the header',
      'hook message',
      'noise',
    ],
  },
  { version: 'v2', files: filesV2, dialect: 'pi-v2', classes: ['compaction', 'hook message', 'noise'] },
  { version: 'v3', files: filesV3, dialect: 'v3', classes: ['compaction', 'custom message', 'noise'] },
] as const;

describe.each(VERSIONS)('a file of pi $version', ({ files, dialect, classes }) => {
  test('reads as the conversation pi shows when it opens, and migrates, the same file', {
    timeout: TIMEOUT,
  }, () => {
    using dir = openTempDir();
    const path = dir.file('session.jsonl');
    const met = new Map<string, number>(classes.map((name) => [name, 0]));
    let runs = 0;
    fc.assert(
      fc.property(files, ({ content, classes }) => {
        runs++;
        for (const name of classes) met.set(name, (met.get(name) ?? 0) + 1);
        writeFileSync(path, content);
        const pis = piContext(SessionManager.open(path, dir.path).buildSessionContext());

        const { entries, dialects, sealed } = parseTranscript(content);
        expect(ourContext(entries)).toEqual(pis);
        expect([...dialects]).toEqual(entries.length === 0 ? [] : [[dialect, entries.length]]);
        expect(sealed).toBe(false);
        // What pi made of the file is read the same.
        expect(ourContext(parseTranscript(readFileSync(path)).entries)).toEqual(pis);
      }),
      { numRuns: RUNS, seed: SEED },
    );
    const table = [...met].map(([name, count]) => `${name}: ${((100 * count) / runs).toFixed(1)} %`);
    console.log(`${runs} files by class: ${table.join(', ')}`);
    for (const [name, count] of met) expect(count / runs, `files of class "${name}"`).toBeGreaterThan(0.02);
  });
});

describe('a v1 file, in plain sight', () => {
  const START = '2024-11-01T00:00:00.000Z';
  const say = (role: string, text: string): object => ({
    type: 'message',
    timestamp: START,
    message: { role, content: [{ type: 'text', text }], provider: 'anthropic', model: 'claude-a' },
  });
  const content = [
    { type: 'session', id: 's1', timestamp: START, cwd: '/x' },
    say('user', '<w1> forgotten'),
    say('assistant', '<w2> forgotten'),
    say('user', '<w3> kept'),
    say('assistant', '<w4> kept'),
    { type: 'compaction', timestamp: START, summary: '<w5>', firstKeptEntryIndex: 3, tokensBefore: 900 },
    { type: 'message', timestamp: START, message: { role: 'hookMessage', content: '<w6> by an extension' } },
  ]
    .map((line) => `${JSON.stringify(line)}\n`)
    .join('');

  test('keeps what its compaction counted by lines, the header being line 0', () => {
    using dir = openTempDir();
    const path = dir.file('session.jsonl');
    writeFileSync(path, content);
    const { words } = ourContext(parseTranscript(content).entries);
    expect(words).toEqual(['<w5>', '<w3>', '<w4>', '<w6>']);
    expect(piContext(SessionManager.open(path, dir.path).buildSessionContext()).words).toEqual(words);
  });
});
