import type { CDPSession } from 'playwright-core';
import { expect, test } from 'vitest';
import { scripted } from '../support/engine/engine.ts';
import { openServer, TOKEN } from '../support/server/server.ts';
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

/** In CPU time of the page's main thread, so that a busy machine does not change it. */
const MAX_TASK_MS = 400;

interface TraceEvent {
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  /** Microseconds of CPU time. */
  readonly tdur?: number;
  readonly args: { readonly name?: string };
}

/** Traces the page until the next call, which returns the CPU time of the longest task of the main thread. */
async function longestTask(cdp: CDPSession): Promise<number> {
  const events: TraceEvent[] = [];
  const collect = ({ value }: { value: object[] }): void => void events.push(...(value as TraceEvent[]));
  cdp.on('Tracing.dataCollected', collect);
  const complete = new Promise((resolve) => cdp.once('Tracing.tracingComplete', resolve));
  await cdp.send('Tracing.end');
  await complete;
  cdp.off('Tracing.dataCollected', collect);
  await startTrace(cdp);
  const main = events.find(({ name, args }) => name === 'thread_name' && args.name === 'CrRendererMain');
  const tasks = events.filter(({ pid, tid }) => pid === main?.pid && tid === main.tid);
  return Math.round(Math.max(...tasks.map(({ tdur = 0 }) => tdur)) / 1000);
}

async function startTrace(cdp: CDPSession): Promise<void> {
  await cdp.send('Tracing.start', {
    transferMode: 'ReportEvents',
    traceConfig: { includedCategories: ['toplevel', 'devtools.timeline'] },
  });
}

test('no text and no code keeps the page from responding to a click', async () => {
  const [, attack] = TEXTS[0] ?? ['', ''];
  const deltas = attack.match(/.{1,1000}/g) ?? [];
  await using at = await openServer(scripted([{ text: deltas }]));
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
  const cdp = await opened.context.newCDPSession(page);
  await startTrace(cdp);
  expect(TEXTS.length).toBeGreaterThanOrEqual(30);
  const waits: Record<string, number> = {};
  for (const [i, [name]] of TEXTS.entries()) {
    await page.evaluate((hash) => {
      location.hash = hash;
    }, `#/s/main/s${i}`);
    await page.getByRole('heading', { level: 1, name: `s${i}`, exact: true }).waitFor();
    await page.locator('.answer .markdown').waitFor({ state: 'attached' });
    await page.getByRole('button', { name: 'Session actions' }).click();
    await page.getByRole('menuitem', { name: 'Rename' }).waitFor();
    await page.keyboard.press('Escape');
    waits[name] = await longestTask(cdp);
  }
  await page.evaluate(() => {
    location.hash = '#/s/main/last';
  });
  await page.getByRole('heading', { level: 1, name: 'last', exact: true }).waitFor();
  // Code that took too long has not ended the highlighter.
  await page.locator('figure.code span[class^=hl-]').first().waitFor();
  // The same text while it is streamed.
  await page.getByLabel('Message', { exact: true }).fill('go');
  await page.keyboard.press('Enter');
  await page.getByText(attack.slice(-1000)).waitFor({ state: 'attached' });
  waits['streamed'] = await longestTask(cdp);
  if (process.env['REPRISE_SHOW_WAITS'] !== undefined) console.log(waits);
  expect(Object.entries(waits).filter(([, ms]) => !(ms > 0 && ms <= MAX_TASK_MS))).toEqual([]);
  expect(complaints).toEqual([]);
});
