import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Tool } from '../../src/engine/tools/tool.ts';
import { createScriptedModel } from '../../src/models/scripted/scripted-model.ts';
import { openServer, TOKEN } from '../support/server.ts';
import { openBrowser, openPage } from './support/browser.ts';

let browser: Browser;
beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => browser?.close());

const ATTACK =
  '<img src=x onerror="window.ran=1"><script>window.ran=1</script></script><svg onload="window.ran=1">' +
  '<iframe srcdoc="<script>parent.ran=1</script>"></iframe><a href="javascript:window.ran=1">go</a>';
const LINKS = [
  '[one](javascript:window.ran=1)',
  '[two](data:text/html,<script>window.ran=1</script>)',
  '[three](java\nscript:window.ran=1)',
  '<javascript:window.ran=1>',
  '![four](https://tracker.example/pixel.gif)',
  '[five](https://fine.example/ "x\\" onclick=\\"window.ran=1")',
].join('\n\n');

test('I-70 T79 nothing that was said, named or answered runs, loads or becomes markup', async () => {
  const tool: Tool = {
    name: 'odd',
    description: 'x',
    inputSchema: { type: 'object', properties: {} },
    safe: true,
    run: async () => {
      throw new Error(ATTACK);
    },
  };
  const calls = [{ id: `call"><b>`, name: 'odd', input: { [ATTACK]: ATTACK } }];
  const answer = `${ATTACK}\n\n${LINKS}\n\n\`\`\`html${ATTACK}\n${ATTACK}\n\`\`\`\n\n| ${ATTACK} |\n|---|\n| ${ATTACK} |`;
  const model = createScriptedModel(
    [
      { thinking: { text: ATTACK }, text: ATTACK, calls },
      { text: answer },
      { text: 'x', error: new TypeError(ATTACK) },
    ],
    { contextWindow: 100_000, model: ATTACK } as never,
  );
  await using at = await openServer(model, { tools: [tool] });
  await (await at.chat({ message: ATTACK, sessionId: 's' })).text();
  const patch = (body: object) =>
    at.request('/api/agents/main/sessions/s', {
      method: 'PATCH',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  expect((await patch({ label: ATTACK })).status).toBe(200);
  await using opened = await openPage(browser, `${at.url}/#token=${TOKEN}`);
  const { page, complaints } = opened;
  await page.goto(`${at.url}/#/s/main/s`);
  await page.locator('.answer:not(.live) figure.code').waitFor();
  for (const fold of await page.locator('.messages summary').all()) await fold.click();
  // Coloured, searched, in the tree, and failing: every place that shows text.
  await page.locator('figure.code span[class^=hl-]').first().waitFor();
  await page.keyboard.press('Control+k');
  await page.getByPlaceholder('Words that were said').fill('onerror');
  await page.locator('.hits mark').first().waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Actions for this session' }).click();
  await page.getByRole('menuitem', { name: 'Tree' }).click();
  await page.locator('.branches button').first().waitFor();
  await page.keyboard.press('Escape');
  await page.getByLabel('Message', { exact: true }).fill(ATTACK);
  await page.keyboard.press('Enter');
  await page.locator('.toast.error').waitFor();

  const found = await page.evaluate(() => ({
    ran: 'ran' in window,
    elements: document.querySelectorAll('#app img, #app script, #app iframe, #app svg:not(.icon), #app style')
      .length,
    handlers: [...document.querySelectorAll('*')].flatMap((element) =>
      element.getAttributeNames().filter((name) => name.startsWith('on')),
    ),
    links: [...document.querySelectorAll<HTMLAnchorElement>('.messages a')].map(({ href, rel }) => [
      href,
      rel,
    ]),
  }));
  expect(found).toEqual({
    ran: false,
    elements: 0,
    handlers: [],
    links: [['https://fine.example/', 'noopener noreferrer nofollow']],
  });
  expect(await page.locator('.said').first().textContent()).toBe(ATTACK);
  expect(await page.locator('h1').textContent()).toBe(ATTACK);
  expect(complaints).toEqual([]);
});

test('I-70 the browser itself refuses what the page would never do', async () => {
  await using at = await openServer(createScriptedModel([]));
  await using opened = await openPage(browser, `${at.url}/#token=${TOKEN}`);
  const { page } = opened;
  const refused = await page.evaluate(() => {
    const box = document.createElement('div');
    const tried: string[] = [];
    for (const act of [
      () => {
        box.innerHTML = '<b>x</b>';
      },
      () => document.write('x'),
    ])
      try {
        act();
      } catch (error) {
        tried.push((error as Error).name);
      }
    const style = document.createElement('style');
    style.textContent = 'body { color: rgb(1, 2, 3) }';
    document.head.append(style);
    return { tried: tried.length, colour: getComputedStyle(document.body).color };
  });
  expect(refused.tried).toBe(2);
  expect(refused.colour).not.toBe('rgb(1, 2, 3)');
});
