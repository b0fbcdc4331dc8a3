import { describe, expect, test } from 'vitest';
import { scripted } from '../support/engine/engine.ts';
import { freePort } from '../support/server/free-port.ts';
import { openServer, TOKEN } from '../support/server/server.ts';
import { killServer, ServerHome } from '../support/server/server-process.ts';
import { openPage } from './support/browser.ts';

describe('I-71 when the server fails', () => {
  test('an answer that was cut off by a killed server continues by itself, and is shown once', async () => {
    await using home = new ServerHome();
    const first = await home.start(['one two three …']);
    await using opened = await openPage(`${first.url}/#token=${TOKEN}`);
    const { page } = opened;
    await page.getByLabel('Message', { exact: true }).fill('count');
    await page.keyboard.press('Enter');
    await page.locator('.live').getByText('one two three').waitFor();
    await killServer(first);
    await page.getByText('Reconnecting').waitFor();
    // Written while the server is away: it is sent when the server is back.
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

  test('a view that is opened while the server is away shows why it is empty, and loads when the server is back', async () => {
    await using at = await openServer(scripted([]));
    await using opened = await openPage(`${at.url}/#token=${TOKEN}`);
    const { page, context } = opened;
    await page.getByText('No sessions yet').waitFor();
    await context.setOffline(true);
    await page.getByRole('link', { name: 'Statistics' }).click();
    const told = "Can't reach the server. Retrying…";
    await page.locator('main > .banner').getByText(told).waitFor();
    await page.getByRole('button', { name: 'Search all sessions' }).click();
    await page.locator('.search-field').fill('anything');
    await page.getByRole('dialog').getByText(told).waitFor();
    await page.keyboard.press('Escape');
    await context.setOffline(false);
    await page.getByText('No model calls').waitFor();
    await expect.poll(() => page.locator('.banner').count()).toBe(0);
  });

  test('colors and Chinese texts that could not be loaded are loaded later, and are no error until then', async () => {
    await using at = await openServer(scripted(['```js\nconst a = 1;\n```']));
    await (await at.chat({ message: 'code, please', sessionId: 's' })).text();
    await using opened = await openPage('about:blank', { locale: 'zh-CN' });
    const { page, context, complaints } = opened;
    const refused: string[] = [];
    const parts = /assets\/(?:chinese|highlight)/;
    await context.route(parts, (asked) => {
      refused.push(asked.request().url());
      return asked.abort();
    });
    await page.goto(`${at.url}/#token=${TOKEN}`);
    await page.goto(`${at.url}/#/s/main/s`);
    await page.locator('figure.code').getByText('const a = 1;').waitFor();
    await expect.poll(() => refused.length).toBeGreaterThanOrEqual(2);
    expect(await page.getAttribute('html', 'lang')).toBe('en');
    expect(await page.locator('.toast').count()).toBe(0);
    await context.unroute(parts);
    await page.locator('html[lang=zh]').waitFor({ state: 'attached' });
    await page.getByPlaceholder('筛选或搜索').waitFor();
    await page.locator('figure.code span[class^=hl-]').first().waitFor();
    expect(complaints.filter((one) => !one.startsWith('request:'))).toEqual([]);
  });

  test('two messages that no server accepted, and what was written since, are in the field after a reload', async () => {
    await using at = await openServer(scripted(['hello', 'all three']));
    await using opened = await openPage(`${at.url}/#token=${TOKEN}`);
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

  test('messages of other clients appear by themselves', async () => {
    await using at = await openServer(scripted(['hello', 'from elsewhere']));
    await using opened = await openPage(`${at.url}/#token=${TOKEN}`);
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
  test('a wrong one is refused in the form; the right one opens the page and is not stored permanently', async () => {
    await using at = await openServer(scripted([]));
    await using opened = await openPage(at.url);
    const { page, context } = opened;
    await page.getByLabel('Token').fill('wrong');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText('Wrong token').waitFor();
    await page.getByLabel('Token').fill(TOKEN);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByLabel('Message', { exact: true }).waitFor();
    expect(await page.evaluate(() => JSON.stringify({ ...localStorage }))).not.toContain(TOKEN);
    // A second tab has it from the first; when no tab is open it is asked for again.
    const second = await context.newPage();
    await second.goto(at.url);
    await second.getByLabel('Message', { exact: true }).waitFor();
    await second.getByRole('button', { name: 'More', exact: true }).click();
    await second.getByRole('menuitem', { name: 'Sign out' }).click();
    await second.getByLabel('Token').waitFor();
    await page.getByLabel('Message', { exact: true }).waitFor();
    await Promise.all([page.close(), second.close()]);
    const other = await context.newPage();
    await other.goto(at.url);
    await other.getByLabel('Token').waitFor();
    await other.getByLabel('Stay signed in on this computer').check();
    await other.getByLabel('Token').fill(TOKEN);
    await other.keyboard.press('Enter');
    await other.getByLabel('Message', { exact: true }).waitFor();
    await other.close();
    const third = await context.newPage();
    await third.goto(at.url);
    await third.getByLabel('Message', { exact: true }).waitFor();
  });

  test('a changed one leads back to the form, and the draft is still there', async () => {
    const port = await freePort();
    const before = await openServer(scripted(['hello']), {}, { port });
    await using opened = await openPage(`${before.url}/#token=${TOKEN}`);
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
    // Also messages that no server received.
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
