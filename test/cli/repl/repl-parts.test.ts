import { mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { completions } from '../../../src/cli/repl/completions.ts';
import { InputHistory } from '../../../src/cli/repl/input-history.ts';
import { PastedText } from '../../../src/cli/repl/pasted-text.ts';
import type { SessionRecord } from '../../../src/index.ts';

fc.configureGlobal({ seed: Number(process.env['REPRISE_PROPERTY_SEED'] ?? 7) });

describe('pasted text', () => {
  test('is sent as it was pasted, folded or not', () => {
    fc.assert(
      fc.property(fc.array(fc.stringMatching(/^[ -~äß€]{0,40}$/), { maxLength: 30 }), (lines) => {
        const pasted = new PastedText();
        const line = `before ${pasted.fold(lines.join('\r'))} after`;
        expect(line).not.toMatch(/[\r\n]/);
        expect(pasted.unfold(line)).toBe(`before ${lines.join('\n')} after`);
      }),
    );
  });
});

describe('prompt history', () => {
  let home = '';
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'reprise-history-'));
  });
  afterEach(() => rmSync(home, { recursive: true, force: true }));
  const file = (): string => join(home, 'repl-history');

  test('is kept in a file of limited size', () => {
    const history = new InputHistory(home);
    for (let i = 0; i < 2100; i++) history.add(`line ${i}`);
    history.add('x'.repeat(5000));
    history.add('  ');
    expect(history.entries).toHaveLength(1000);
    const { entries } = new InputHistory(home);
    expect(entries).toHaveLength(1000);
    expect(entries[0]).toBe('line 2099');
    expect(readFileSync(file(), 'utf8').trimEnd().split('\n')).toHaveLength(1000);
    expect(statSync(file()).mode & 0o777).toBe(0o600);
  });

  test('a torn file is read as far as possible, and a link is not followed for writing', () => {
    writeFileSync(file(), '"one"\nnot json\n"two"\n{"a":1}\n"thr');
    expect(new InputHistory(home).entries).toEqual(['two', 'one']);
    rmSync(file());
    const elsewhere = join(home, 'elsewhere');
    writeFileSync(elsewhere, '');
    symlinkSync(elsewhere, file());
    new InputHistory(home).add('secret');
    expect(readFileSync(elsewhere, 'utf8')).toBe('');
  });
});

describe('completion', () => {
  const record = (over: object): SessionRecord => ({ title: '', settings: {}, ...over }) as SessionRecord;
  const store = {
    list: async () => ({
      sessions: [
        record({ id: '01aa', label: 'my-project' }),
        record({ id: '01bb', title: 'My plan' }),
        record({ id: '02cc', title: 'evil\u001b[31m' }),
      ],
      cursor: null,
    }),
  };

  test.each([
    ['/comp', ['/compact '], '/comp'],
    ['/hel', ['/help '], '/hel'],
    ['/help sw', ['switch'], 'sw'],
    ['/switch my', ['my-project', 'My plan'], 'my'],
    ['/resume 01a', ['01aa'], '01a'],
    ['/delete ', ['my-project', 'My plan'], ''],
    ['/context x', [], 'x'],
    ['hello /sw', [], 'hello /sw'],
  ])('of %j', async (line, found, part) => {
    expect(await completions(line, store)).toEqual([found, part]);
  });
});
