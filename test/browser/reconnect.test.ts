import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { scripted } from '../support/engine.ts';
import { freePort } from '../support/free-port.ts';
import { openServer, TOKEN } from '../support/server.ts';
import { killServer, ServerHome } from '../support/server-process.ts';
import { openBrowser, openPage } from './support/browser.ts';

let browser: Browser;
beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => browser?.close());

describe('I-71 whatever happens to the server', () => {
  test('an answer that was cut off by a killed server goes on by itself, and is shown once', async () => {
    await using home = new ServerHome();
    const first = await home.start(['one two three …']);
    await using opened = await openPage(browser, `${first.url}/#token=${TOKEN}`);
    const { page } = opened;
    await page.getByLabel('Message', { exact: true }).fill('count');
    await page.keyboard.press('Enter');
    await page.locator('.live').getByText('one two three').waitFor();
    await killServer(first);
    await page.getByText('Reconnecting').waitFor();
    // Written while nobody answers: it is sent when somebody does.
    await page.getByLabel('Message', { exact: true }).fill('and then?');
    await page.keyboard.press('Enter');
    await page.locator('.message.sending').waitFor();
    await home.start(['one two three four five', 'six']);
    await page.locator('.answer:not(.live)').getByText('six').waitFor();
    await page.getByText('Connected').waitFor();
    await expect.poll(() => page.locator('.live').count()).toBe(0);
    const said = page.locator('.message.user .said');
    await expect.poll(() => said.allTextContents()).toEqual(['count', 'and then?']);
    const answers = (await page.locator('.answer .markdown').allTextContents()).join('|');
    expect(answers.match(/five|six/g)).toEqual(['five', 'six']);
    expect(await page.locator('.message.failed').count()).toBe(0);
  });

  test('a view that is asked for while the server is gone says why it does not come, and comes with the server', async () => {
    await using at = await openServer(scripted([]));
    await using opened = await openPage(browser, `${at.url}/#token=${TOKEN}`);
    const { page, context } = opened;
    await page.getByText('No sessions yet').waitFor();
    // What comes behind the first picture has come: the search is there before the server is gone.
    const search = page.getByRole('button', { name: 'Search all sessions' });
    await search.click();
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await context.setOffline(true);
    await page.getByRole('link', { name: 'Statistics' }).click();
    const told = 'The server does not answer; it is tried again.';
    await page.locator('main > .banner').getByText(told).waitFor();
    await search.click();
    await page.locator('.search-field').fill('anything');
    await page.getByRole('dialog').getByText(told).waitFor();
    await page.keyboard.press('Escape');
    await context.setOffline(false);
    await page.getByText('No model was asked anything').waitFor();
    await expect.poll(() => page.locator('.banner').count()).toBe(0);
  });

  test('two messages that nobody took, and what was written since, are in the field after a reload', async () => {
    await using at = await openServer(scripted(['hello', 'all three']));
    await using opened = await openPage(browser, `${at.url}/#token=${TOKEN}`);
    const { page } = opened;
    const field = page.getByLabel('Message', { exact: true });
    await field.fill('hi');
    await field.press('Enter');
    await page.locator('.answer:not(.live)').getByText('hello').waitFor();
    await page.route('**/chat', (asked) => asked.abort());
    for (const text of ['first', 'second']) {
      await field.fill(text);
      await field.press('Enter');
    }
    await expect.poll(() => page.locator('.message.sending').count()).toBe(2);
    await field.fill('third');
    // In another session and back they are on their way, not in the field a second time.
    await page.getByRole('link', { name: 'New chat', exact: true }).click();
    await expect.poll(() => field.inputValue()).toBe('');
    await page.goBack();
    await expect.poll(() => field.inputValue()).toBe('third');
    const sending = page.locator('.message.sending .said');
    await expect.poll(() => sending.allTextContents()).toEqual(['first', 'second']);
    await page.reload();
    await expect.poll(() => field.inputValue()).toBe('first\n\nsecond\n\nthird');
    expect(await page.locator('.message.sending').count()).toBe(0);
    await page.unroute('**/chat');
    await field.press('Enter');
    await page.locator('.answer:not(.live)').getByText('all three').waitFor();
    await page.reload();
    await page.locator('.answer').getByText('all three').waitFor();
    expect(await field.inputValue()).toBe('');
  });

  test('what others say in the session appears by itself', async () => {
    await using at = await openServer(scripted(['hello', 'from elsewhere']));
    await using opened = await openPage(browser, `${at.url}/#token=${TOKEN}`);
    const { page } = opened;
    await page.getByLabel('Message', { exact: true }).fill('hi');
    await page.keyboard.press('Enter');
    await page.locator('.answer:not(.live)').getByText('hello').waitFor();
    const sessionId = page.url().split('/').at(-1);
    await (await at.chat({ message: 'said in another tab', sessionId })).text();
    await page.locator('.said').getByText('said in another tab').waitFor();
    await page.locator('.answer:not(.live)').getByText('from elsewhere').waitFor();
  });
});

describe('the token', () => {
  test('a wrong one is refused in the form; the right one opens the page and is not in storage for good', async () => {
    await using at = await openServer(scripted([]));
    await using opened = await openPage(browser, at.url);
    const { page, context } = opened;
    await page.getByLabel('Token').fill('wrong');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText('not the one').waitFor();
    await page.getByLabel('Token').fill(TOKEN);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByLabel('Message', { exact: true }).waitFor();
    expect(await page.evaluate(() => JSON.stringify({ ...localStorage }))).not.toContain(TOKEN);
    const other = await context.newPage();
    await other.goto(at.url);
    await other.getByLabel('Token').waitFor();
    await other.getByLabel('Keep me signed in').check();
    await other.getByLabel('Token').fill(TOKEN);
    await other.keyboard.press('Enter');
    await other.getByLabel('Message', { exact: true }).waitFor();
    const third = await context.newPage();
    await third.goto(at.url);
    await third.getByLabel('Message', { exact: true }).waitFor();
  });

  test('one that was changed leads back to the form, and what was being written is still there', async () => {
    const port = await freePort();
    const before = await openServer(scripted(['hello']), {}, { port });
    await using opened = await openPage(browser, `${before.url}/#token=${TOKEN}`);
    const { page } = opened;
    await page.getByLabel('Message', { exact: true }).fill('a long thought');
    await before[Symbol.asyncDispose]();
    const renewed = 'another-token-that-is-long-enough-too';
    const field = page.getByLabel('Message', { exact: true });
    const signIn = async (token: string): Promise<void> => {
      await page.getByText('The token has changed').waitFor();
      await page.getByLabel('Token').fill(token);
      await page.keyboard.press('Enter');
    };
    const between = await openServer(scripted(['hello']), {}, { port, token: renewed });
    expect(between.url).toBe(before.url);
    await signIn(renewed);
    await expect.poll(() => field.inputValue()).toBe('a long thought');
    // Also what was sent to nobody.
    await between[Symbol.asyncDispose]();
    await page.getByText('Reconnecting').waitFor();
    await field.press('Enter');
    await page.locator('.message.sending').waitFor();
    await using after = await openServer(scripted(['hello']), {}, { port });
    await signIn(TOKEN);
    await expect.poll(() => field.inputValue()).toBe('a long thought');
    await field.press('Enter');
    await page.locator('.answer:not(.live)').getByText('hello').waitFor();
    expect(await page.locator('.said').allTextContents()).toEqual(['a long thought']);
    expect((await after.reprise.sessions({ limit: 10 })).sessions).toHaveLength(1);
  });
});
