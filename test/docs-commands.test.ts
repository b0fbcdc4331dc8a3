import { readdirSync, readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { createProgram } from '../src/cli/main.ts';

const program = createProgram();
const chat = program.commands.find((command) => command.name() === 'chat');

/** What a line of a page asks for that the commands do not have; empty: it can be typed. */
function unknownIn(line: string): string[] {
  // Behind a comment, a pipe or a quote stands something else.
  const words =
    line
      .split(/\s+#|[|;"'()]/)[0]
      ?.trim()
      .split(/\s+/) ?? [];
  let command: Command | undefined = program;
  const options = new Set<string>(['--help', '-h', '--json']);
  const learn = (known: Command | undefined): void => {
    for (const { short, long } of known?.options ?? [])
      for (const flag of [short, long]) options.add(flag ?? '');
  };
  learn(program);
  const isCommand = /^[a-z]+$/.test(words[0] ?? '');
  if (!isCommand) learn(chat);
  const missing: string[] = [];
  for (const [at, word] of words.entries()) {
    const inner: Command | undefined = command?.commands.find((each) => each.name() === word);
    if (inner !== undefined) {
      command = inner;
      learn(inner);
    } else if (at === 0 && isCommand) missing.push(word);
    else if (/^--?[a-z]/i.test(word) && !options.has(word.replace(/=.*/, ''))) missing.push(word);
  }
  return missing;
}

const PAGES = [
  'README.md',
  ...readdirSync('docs')
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];

test.each(PAGES)('%s names only commands and options that exist', (page) => {
  const text = readFileSync(page, 'utf8');
  const typed = [
    ...text.matchAll(/`reprise ([^`\n]+)`/g),
    ...text.matchAll(/^reprise (\S[^\n]*)/gm),
    ...text.matchAll(/\.bin\/reprise (\S[^\n]*)/g),
    ...text.matchAll(/^npm start -- ([^\n]+)/gm),
  ].map(([, line = '']) => line);
  for (const line of typed) expect(unknownIn(line), `reprise ${line}`).toEqual([]);
});

test('would notice one that does not', () => {
  expect(unknownIn('serve --log-formt json')).toEqual(['--log-formt']);
  expect(unknownIn('backup restore x --home y --too z')).toEqual(['--too']);
  expect(unknownIn('nonsense')).toEqual(['nonsense']);
});
