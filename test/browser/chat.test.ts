import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { pacedModel } from '../support/paced-model.ts';
import { openServer, TOKEN } from '../support/server.ts';
import { openBrowser, openPage } from './support/browser.ts';

let browser: Browser;
beforeAll(async () => {
  browser = await openBrowser();
}, 120_000);
afterAll(() => browser?.close());

describe('a chat in the browser', () => {
  test('a message is sent, its answer streams, and both are there after a reload', async () => {
    const model = pacedModel(['Hello ', '**there**', ', friend.']);
    await using at = await openServer(model);
    await using opened = await openPage(browser, `${at.url}/#token=${TOKEN}`);
    const { page, complaints } = opened;
    expect(page.url()).not.toContain(TOKEN);
    await page.getByLabel('Message', { exact: true }).fill('hi');
    await page.keyboard.press('Enter');
    model.allow(2);
    const answer = page.locator('.answer');
    await answer.getByText('there').waitFor();
    expect(await answer.locator('strong').textContent()).toBe('there');
    expect(await answer.textContent()).not.toContain('friend');
    model.allow(10);
    await answer.getByText('friend').waitFor();
    await page.locator('.answer:not(.live)').waitFor();
    await page.reload();
    await page.locator('.answer strong').waitFor();
    expect(await page.locator('.message.user .said').textContent()).toBe('hi');
    expect(await page.locator('.message').count()).toBe(2);
    expect(await page.locator('.session').count()).toBe(1);
    expect(complaints).toEqual([]);
  });
});
