import { expect, test } from 'vitest';
import { wrapFor, wrapText } from '../../../src/cli/repl/wrap-text.ts';
import { commandHelp } from '../../../src/engine/commands/commands.ts';

const HELP = commandHelp('repl').join('\n');
const words = (text: string): string[] => text.split(/\s+/);

test.each([40, 52, 60, 79, 120])('/help in %s columns breaks at words and loses none', (columns) => {
  const wrapped = wrapText(HELP, columns);
  expect(words(wrapped)).toEqual(words(HELP));
  for (const line of wrapped.split('\n')) expect(line.length).toBeLessThanOrEqual(columns);
});

test('a wrapped line continues below its column, or below its row where that is too far to the right', () => {
  const row = '  /model [name]  show the model that answers, or choose another';
  expect(wrapText(row, 40)).toBe(
    [
      '  /model [name]  show the model that',
      '                 answers, or choose',
      '                 another',
    ].join('\n'),
  );
  const wide = `  /queue [mode] [debounce:2s] [cap:25]  what becomes of messages that come meanwhile`;
  expect(wrapText(wide, 40)).toBe(
    [
      '  /queue [mode] [debounce:2s] [cap:25]',
      '      what becomes of messages that come',
      '      meanwhile',
    ].join('\n'),
  );
  expect(wrapText('queue: steer debounce:0.5s cap:20 drop:summarize; idle', 40)).toBe(
    ['queue: steer debounce:0.5s cap:20', '    drop:summarize; idle'].join('\n'),
  );
});

test('a word that is longer than the line stays whole, and wide characters take their two cells', () => {
  const id = 'agent:main:session:01a1e2c1-2ffc-775e-a152-7e028b53cb23';
  expect(wrapText(`in ${id} now`, 40)).toBe(`in\n    ${id}\n    now`);
  expect(wrapText(`${'名'.repeat(15)} ${'字'.repeat(5)}`, 40)).toBe(
    `${'名'.repeat(15)}\n    ${'字'.repeat(5)}`,
  );
  expect(wrapText(`${'a'.repeat(15)} ${'b'.repeat(5)}`, 40)).toBe(`${'a'.repeat(15)} ${'b'.repeat(5)}`);
});

test('text that is not for a terminal stays as it is', () => {
  const line = 'queue: steer debounce:0.5s cap:20 drop:summarize; idle';
  expect(wrapFor({}, line)).toBe(line);
  expect(wrapFor({ columns: 40 }, line)).toBe(wrapText(line, 40));
});
