import { expect, test } from 'vitest';
import { scripted } from '../support/engine.ts';
import { openServer, TOKEN } from '../support/server.ts';
import { openPage } from './support/browser.ts';

const LONG = 100_000;
const CODE = 49_000;

const fill = (unit: string, length: number): string => unit.repeat(Math.ceil(length / unit.length));
const code = (language: string, unit: string): string => `\`\`\`${language}\n${fill(unit, CODE)}\n\`\`\``;

/** Shapes for which a lexer, a highlighter or the drawing of their outcome takes the square of the length, or more. */
const UNITS = [
  ...['-\n', '- ', '> ', '1. ', '*a ', '~~a', '`a', '[', '[a](', '[a]: b\n', '<', '<a b="', '<!--', '&#'],
  ...['|a|\n', '#\n', '    a\n', 'a.', 'www.', 'https://a/(', '\\'],
];
const TEXTS: readonly (readonly [name: string, text: string])[] = [
  ['a word before an @', `${fill('a', LONG)}@`],
  ...UNITS.map((unit) => [`${JSON.stringify(unit)} repeated`, fill(unit, LONG)] as const),
  ...UNITS.slice(0, 2).map((unit) => [`${JSON.stringify(unit)} in a list`, `- ${fill(unit, LONG)}`] as const),
  ['a table of one wide row', `|a|\n|-|\n${fill('|b', LONG)}`],
  ['minus signs as JavaScript', code('js', '-\n')],
  ['one word as JavaScript', code('js', 'a')],
  ['braces as CSS', code('css', '{')],
  ['tags as XML', code('xml', '<a ')],
  ['quotes as Python', code('python', '"""\n')],
  ['many short words as TypeScript', code('ts', 'let a = 1;\n')],
];

test('I-70 S7 no text and no code keeps the page from answering a click', async () => {
  await using at = await openServer(scripted([]));
  const { store } = at.reprise;
  const add = async (id: string, text: string): Promise<void> => {
    await store.create({ id, key: `agent:main:session:${id}` });
    const message = { role: 'assistant', content: [{ type: 'text', text }] };
    await store.append(id, [
      { type: 'message', message: { role: 'user', content: id } },
      { type: 'message', message },
    ] as never);
  };
  for (const [i, [, text]] of TEXTS.entries()) await add(`s${i}`, text);
  await add('last', '```js\nconst a = 1;\n```');
  await using opened = await openPage(`${at.url}/#token=${TOKEN}`);
  const { page, complaints } = opened;
  await page.getByLabel('Message', { exact: true }).waitFor();
  // How long the page does nothing else, which is how long a click would wait, counted from inside.
  await page.evaluate(() => {
    const watch = { longest: 0, last: performance.now() };
    setInterval(() => {
      watch.longest = Math.max(watch.longest, performance.now() - watch.last);
      watch.last = performance.now();
    }, 10);
    Object.assign(window, { watch });
  });
  const longest = (): Promise<number> =>
    page.evaluate(() => {
      const { watch } = window as unknown as { watch: { longest: number } };
      const { longest } = watch;
      watch.longest = 0;
      return Math.round(longest);
    });
  expect(TEXTS.length).toBeGreaterThanOrEqual(30);
  const waits: Record<string, number> = {};
  for (const [i, [name]] of TEXTS.entries()) {
    await page.evaluate((hash) => {
      location.hash = hash;
    }, `#/s/main/s${i}`);
    await page.getByRole('heading', { level: 1, name: `s${i}`, exact: true }).waitFor();
    await page.locator('.answer .markdown').waitFor({ state: 'attached' });
    await page.getByRole('button', { name: 'Actions for this session' }).click();
    await page.getByRole('menuitem', { name: 'Rename' }).waitFor();
    await page.keyboard.press('Escape');
    waits[name] = await longest();
  }
  if (process.env['REPRISE_SHOW_WAITS'] !== undefined) console.log(waits);
  expect(Object.entries(waits).filter(([, ms]) => ms > 2000)).toEqual([]);
  // Code that took too long has not ended the highlighter.
  await page.goto(`${at.url}/#/s/main/last`);
  await page.locator('figure.code span[class^=hl-]').first().waitFor();
  expect(complaints).toEqual([]);
});
