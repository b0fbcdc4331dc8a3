import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { scripted } from '../support/engine.ts';
import { pacedModel } from '../support/paced-model.ts';
import { openServer, TOKEN } from '../support/server.ts';
import { openBrowser, openPage } from './support/browser.ts';

let browser: Browser;
beforeAll(async () => {
  browser = await openBrowser();
}, 120_000);
afterAll(() => browser?.close());

const answers = (page: Page): Locator => page.locator('.answer:not(.live) .markdown');

async function say(page: Page, text: string): Promise<void> {
  await page.getByLabel('Message', { exact: true }).fill(text);
  await page.keyboard.press('Enter');
}

describe('T82 what happens while nobody looks, or somewhere else', () => {
  test('a tab that sleeps while much is said is told all of it when it wakes, once and in order', async () => {
    const WORDS = 300;
    const filler = 'x'.repeat(20_000);
    const model = pacedModel(Array.from({ length: WORDS }, (_, i) => `(${i})${filler} `));
    await using at = await openServer(model);
    await using opened = await openPage(browser, `${at.url}/#token=${TOKEN}`);
    const { page, context, complaints } = opened;
    await say(page, 'count');
    model.allow(3);
    await page.locator('.live').getByText('(2)').waitFor();
    const sessionId = page.url().split('/').at(-1) ?? '';
    const tab = await context.newCDPSession(page);
    await tab.send('Page.setWebLifecycleState', { state: 'frozen' });
    // More than anybody keeps for who does not read: it is cut, and the turn goes on without it.
    model.allow(WORDS);
    await expect
      .poll(async () => (await at.reprise.store.get(sessionId)).messageCount, { timeout: 20_000 })
      .toBe(2);
    await tab.send('Page.setWebLifecycleState', { state: 'active' });
    await answers(page)
      .getByText(`(${WORDS - 1})`)
      .waitFor();
    await expect.poll(() => page.locator('.live').count()).toBe(0);
    const numbers = (await answers(page).allTextContents()).join('').match(/\(\d+\)/g);
    expect(numbers).toEqual(Array.from({ length: WORDS }, (_, i) => `(${i})`));
    expect(complaints).toEqual([]);
  });

  test('two tabs of one session show the same: the answer as it comes, and what the other one said', async () => {
    const model = pacedModel(['one ', 'two ', 'three']);
    await using at = await openServer(model);
    await using first = await openPage(browser, `${at.url}/#token=${TOKEN}`);
    await say(first.page, 'count');
    model.allow(1);
    await first.page.locator('.live').getByText('one').waitFor();
    const [, hash = ''] = first.page.url().split('#');
    await using second = await openPage(browser, `${at.url}/#token=${TOKEN}`);
    await second.page.goto(`${at.url}/#${hash}`);
    await second.page.locator('.live').getByText('one').waitFor();
    model.allow(10);
    for (const { page } of [first, second]) {
      await answers(page).getByText('one two three').waitFor();
      await expect.poll(() => page.locator('.said').allTextContents()).toEqual(['count']);
      await expect.poll(() => page.locator('.live').count()).toBe(0);
    }
    await say(second.page, 'and more');
    model.allow(10);
    await first.page.locator('.said').getByText('and more').waitFor();
    await expect.poll(() => answers(first.page).count()).toBe(2);
    expect([...first.complaints, ...second.complaints]).toEqual([]);
  });

  test('words in Chinese are found, and the hit opens at its message', async () => {
    await using at = await openServer(scripted([]));
    const { store } = at.reprise;
    const { id } = await store.create({ id: 'zh', key: 'agent:main:session:zh' });
    const text = (i: number): string => (i === 7 ? '我们星期五去看番茄和豆子' : `第 ${i} 条消息`);
    await store.append(
      id,
      Array.from({ length: 400 }, (_, i) => ({
        type: 'message',
        message: { role: i % 2 === 0 ? 'user' : 'assistant', content: [{ type: 'text', text: text(i) }] },
      })) as never,
    );
    await using opened = await openPage(browser, `${at.url}/#token=${TOKEN}`, { locale: 'zh-CN' });
    const { page } = opened;
    await page.locator('.session').waitFor();
    await page.getByRole('button', { name: '搜索' }).click();
    await page.locator('.search-field').fill('番茄');
    await page.locator('.hits mark').getByText('番茄').waitFor();
    await page.keyboard.press('Enter');
    await page.locator('.flash').getByText('我们星期五去看番茄和豆子').waitFor();
  });

  test('a session that is deleted elsewhere says so, takes nothing more', async () => {
    await using at = await openServer(scripted(['hello', 'again']));
    await using opened = await openPage(browser, `${at.url}/#token=${TOKEN}`);
    const { page } = opened;
    await say(page, 'hi');
    await answers(page).getByText('hello').waitFor();
    const sessionId = page.url().split('/').at(-1) ?? '';
    const path = `/api/agents/main/sessions/${sessionId}`;
    expect((await at.request(path, { method: 'DELETE' })).status).toBe(200);
    await say(page, 'is anybody there?');
    await page.getByText('in the trash').first().waitFor();
    expect((await at.reprise.store.get(sessionId)).messageCount).toBe(2);
  });

  test('a message over the limit is refused in its place with its words kept', async () => {
    await using at = await openServer(scripted(['never']), {}, { limits: { messageBytes: 10_000 } });
    await using opened = await openPage(browser, `${at.url}/#token=${TOKEN}`);
    const { page } = opened;
    const long = 'word '.repeat(4000);
    await say(page, long);
    const refused = page.locator('.message.failed');
    await refused.getByRole('button', { name: 'Try again' }).waitFor();
    expect(await refused.textContent()).toMatch(/10,?000|limit|large/i);
    expect(await refused.locator('.said').textContent()).toBe(long);
    expect((await at.reprise.sessions({ limit: 10 })).sessions).toHaveLength(0);
  });

  test('a server that does not know a route yet is talked to all the same', async () => {
    await using at = await openServer(scripted(['hello']));
    await using opened = await openPage(browser, 'about:blank');
    const { page } = opened;
    const body = JSON.stringify({
      code: 'NOT_FOUND',
      error: 'no such route',
      detail: 'no such route',
      status: 404,
    });
    for (const route of ['**/pins', '**/context', '**/api/commands'])
      await page.route(route, (asked) =>
        asked.fulfill({ status: 404, contentType: 'application/problem+json', body }),
      );
    await page.goto(`${at.url}/#token=${TOKEN}`);
    await say(page, 'hi');
    await answers(page).getByText('hello').waitFor();
    await page.reload();
    await answers(page).getByText('hello').waitFor();
    expect(await page.locator('.said').allTextContents()).toEqual(['hi']);
  });
});
