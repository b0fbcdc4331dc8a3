import { readFileSync } from 'node:fs';
import type { Locator, Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { Reprise } from '../../src/engine/reprise.ts';
import { createOfflineModel } from '../../src/models/offline/offline-model.ts';
import { serve } from '../../src/server/serve.ts';
import { openMemoryStore } from '../../src/store/memory/open.ts';
import { scripted } from '../support/engine/engine.ts';
import { openServer, TOKEN } from '../support/server/server.ts';
import { complaintsOf } from './support/axe.ts';
import { openPage } from './support/browser.ts';

const QUIET = { info: () => undefined, warn: () => undefined, error: () => undefined };
const field = (page: Page): Locator => page.getByLabel('Message', { exact: true });

async function say(page: Page, text: string): Promise<void> {
  await field(page).fill(text);
  await page.keyboard.press('Enter');
  await page.locator('.answer:not(.live)').last().waitFor();
}

test('a new chat offers ways to start, and shows and changes the model', async () => {
  const small = createOfflineModel({ variant: 'offline' });
  const listModels = async () => [
    { name: 'offline', contextWindow: null, cost: null },
    { name: 'openai:big', contextWindow: 400_000, cost: { input: 2, output: 8 } },
  ];
  const store = await openMemoryStore({});
  await using reprise = new Reprise({ model: small, store, modelByName: () => small });
  const config = { port: 0, token: TOKEN };
  const served = await serve({ reprise, config, logger: QUIET, listModels, modelByName: () => small });
  try {
    await using opened = await openPage(`${served.url}/#token=${TOKEN}`);
    const { page, complaints } = opened;
    await page.getByRole('button', { name: 'Make a plan' }).click();
    await expect.poll(() => field(page).inputValue()).toMatch(/^Make a plan with steps/);
    const picker = page.getByRole('button', { name: 'Model: Demo (offline)' });
    await picker.click();
    await page.getByRole('menuitemradio', { name: 'openai:big 400k tokens · $2 in, $8 out' }).waitFor();
    expect(await complaintsOf(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await say(page, 'hello');
    await picker.click();
    await page.getByRole('menuitemradio', { name: /openai:big/ }).click();
    await page.getByRole('button', { name: 'Model: big' }).waitFor();
    const [session] = (await reprise.sessions({})).sessions;
    expect(session?.settings).toMatchObject({ model: 'openai:big' });
    // The command opens the same list, and no dialog with text of a terminal.
    await field(page).fill('/model');
    await page.keyboard.press('Enter');
    await page.getByRole('menuitemradio', { name: /openai:big/, checked: true }).waitFor();
    expect(complaints).toEqual([]);
  } finally {
    await served.close();
  }
});

test('Ctrl-K goes to a session, runs a command or finds a message, and Escape closes only the palette', async () => {
  await using at = await openServer(scripted(['one', 'two']));
  await (await at.chat({ message: 'the red fox', sessionId: 'fox' })).text();
  await (await at.chat({ message: 'a blue whale', sessionId: 'whale' })).text();
  await using opened = await openPage(`${at.url}/#token=${TOKEN}`);
  const { page, complaints } = opened;
  await page.locator('.session').first().waitFor();
  await page.keyboard.press('Control+k');
  await page.keyboard.type('red f');
  await page
    .getByRole('option', { name: /^the red fox/ })
    .first()
    .waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'the red fox' }).waitFor();
  await page.keyboard.press('Control+k');
  await page.keyboard.type('>stat');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Statistics' }).waitFor();
  await page.keyboard.press('Control+k');
  expect(await complaintsOf(page)).toEqual([]);
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.getByRole('heading', { name: 'Statistics' }).waitFor();
  expect(complaints).toEqual([]);
});

test('a session is pinned to the top, and one that grew elsewhere is marked until it is read', async () => {
  await using at = await openServer(scripted(['one', 'two', 'three']));
  await (await at.chat({ message: 'the red fox', sessionId: 'fox' })).text();
  await (await at.chat({ message: 'a blue whale', sessionId: 'whale' })).text();
  await using opened = await openPage(`${at.url}/#token=${TOKEN}`);
  const { page } = opened;
  await page.locator('.session', { hasText: 'the red fox' }).click();
  await page.locator('.answer').waitFor();
  await page.getByRole('button', { name: 'Session actions' }).click();
  await page.getByRole('menuitem', { name: 'Pin to the top' }).click();
  await page.locator('.sessions .group').getByText('Pinned').waitFor();
  expect(await page.locator('.session .name').allTextContents()).toEqual(['the red fox', 'a blue whale']);
  await (await at.chat({ message: 'it sings', sessionId: 'whale' })).text();
  const unread = page.getByRole('img', { name: 'New messages' });
  await unread.waitFor();
  await page.locator('.session', { hasText: 'a blue whale' }).click();
  await unread.waitFor({ state: 'detached' });
});

test('a session is shared as Markdown and as one HTML page without scripts', async () => {
  await using at = await openServer(scripted(['**bold** & <script>alert(1)</script>\n\n| a |\n|-|\n| 1 |']));
  await (await at.chat({ message: 'Trip: to <b>Lisbon</b>?', sessionId: 's' })).text();
  await using opened = await openPage(`${at.url}/#token=${TOKEN}`);
  const { page } = opened;
  await page.locator('.session').click();
  await page.locator('.answer').waitFor();
  const save = async (name: string): Promise<[string, string]> => {
    await page.getByRole('button', { name: 'Session actions' }).click();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('menuitem', { name }).click(),
    ]);
    return [download.suggestedFilename(), readFileSync(await download.path(), 'utf8')];
  };
  const [markdownName, markdown] = await save('Export as Markdown');
  expect(markdownName).toBe('Trip-to-b-Lisbon-b.md');
  expect(markdown).toMatch(/^# Trip: to <b>Lisbon<\/b>\?\n\n## You · [^\n]+\n\nTrip: to/);
  expect(markdown).toContain('**bold** & <script>alert(1)</script>');
  const [htmlName, html] = await save('Share as one HTML file');
  expect(htmlName).toBe('Trip-to-b-Lisbon-b.html');
  expect(html).toMatch(/<strong[^>]*>bold<\/strong>/);
  expect(html).toMatch(/<td[^>]*>1<\/td>/);
  expect(html).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
  const loads = html.replaceAll(' xmlns="http://www.w3.org/1999/xhtml"', '');
  expect(loads).not.toMatch(/<script|<b>Lisbon|src=|https?:/);
});

test('a sign-in link signs in every tab, and signing out removes the cookie', async () => {
  await using at = await openServer(scripted(['Hi.']));
  await using opened = await openPage(`${at.url}/#token=${TOKEN}`);
  const { page, context } = opened;
  await page.getByText('Start a conversation').waitFor();
  const cookies = async (): Promise<number> =>
    (await context.cookies()).filter(({ name, httpOnly }) => httpOnly && name.endsWith(new URL(at.url).port))
      .length;
  await expect.poll(cookies).toBe(1);
  await expect
    .poll(() => page.evaluate('sessionStorage.length + (localStorage["reprise.token"] ? 1 : 0)'))
    .toBe(0);
  const second = await context.newPage();
  await second.goto(at.url);
  await say(second, 'from the second tab');
  await second.reload();
  await second.locator('.message.user').getByText('from the second tab').waitFor();
  await second.getByRole('button', { name: 'More', exact: true }).click();
  await second.getByRole('menuitem', { name: 'Sign out' }).click();
  await second.getByLabel('Token').waitFor();
  await expect.poll(cookies).toBe(0);
  await second.close();
});
