// @module-tag long
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect } from 'vitest';
import { testKills } from '../../support/processes/kill-suite.ts';

const ROUNDS = Number(process.env['REPRISE_CRASH_ROUNDS'] ?? 4);

let home = '';
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'reprise-kill-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

describe('sqlite', () =>
  testKills({ options: () => ({ store: 'sqlite', home }), rounds: ROUNDS, records: 25 }));

describe('jsonl', () =>
  testKills({
    options: () => ({ store: 'jsonl', home }),
    rounds: ROUNDS,
    records: 25,
    onIntact(seen) {
      const lines = readFileSync(join(home, 'agents/main/sessions/s.jsonl'), 'utf8').split('\n');
      expect(lines.pop()).toBe('');
      expect(lines.map((line) => JSON.parse(line).seal.q)).toEqual(seen.map(({ seq }) => seq));
    },
  }));
