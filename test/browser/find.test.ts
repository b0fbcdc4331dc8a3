import { describe, expect, test } from 'vitest';
import { scripted } from '../support/engine/engine.ts';
import { openServer, TOKEN } from '../support/server/server.ts';
import { complaintsOf } from './support/axe.ts';
import { openPage } from './support/browser.ts';
import { rememberFlashes } from './support/flashes.ts';

const message = (role: string, text: string): object => ({
  type: 'message',
  message: { role, content: [{ type: 'text', text }] },
});

describe('search', () => {
  test('with many hits shows their number, and older ones on request', async () => {
    await using at = await openServer(scripted([]));
    const { store } = at.reprise;
    const { id } = await store.create({ id: 's', key: 'agent:main:session:s' });
    const lines = Array.from({ length: 70 }, (_, i) => message('user', `needle ${i}`));
    await store.append(id, lines as never);
    await using opened = await openPage(`${at.url}/#token=${TOKEN}`);
    const { page } = opened;
    await page.locator('.session').waitFor();
    await page.getByRole('button', { name: 'Search all sessions' }).click();
    await page.locator('.search-field').fill('needle');
    const hits = page.locator('.hits [role=option]:not(.offer)');
    await page.getByText('Results: 50').waitFor();
    expect(await hits.count()).toBe(50);
    await page.getByRole('button', { name: 'Show older' }).click();
    await page.getByText('Results: 70').waitFor();
    expect(await hits.last().textContent()).toContain('needle 0');
    await page.getByRole('button', { name: 'Show older' }).waitFor({ state: 'detached' });
  });

  test('a search that had no time to look through everything continues by itself until it has', async () => {
    await using at = await openServer(scripted([]));
    const { store } = at.reprise;
    const { id } = await store.create({ id: 's', key: 'agent:main:session:s' });
    await store.append(id, [message('user', 'a needle in the hay')] as never);
    await using opened = await openPage(`${at.url}/#token=${TOKEN}`);
    const { page } = opened;
    // As a busy server answers: it looked for as long as a person would wait, and came to nothing.
    let asked = 0;
    const isRead = Promise.withResolvers<void>();
    await page.route('**/api/search?*', async (route) => {
      const response = await route.fetch();
      if (++asked > 1) {
        await isRead.promise;
        return route.fulfill({ response });
      }
      return route.fulfill({
        response,
        json: { ...(await response.json()), data: [], next: null, complete: false },
      });
    });
    await page.getByRole('button', { name: 'Search all sessions' }).click();
    await page.locator('.search-field').fill('needle');
    await page.getByText('Not all messages have been searched yet.').waitFor();
    isRead.resolve();
    await page.locator('.hits mark').getByText('needle').waitFor();
    await page.getByText('Not all messages have been searched yet.').waitFor({ state: 'detached' });
    expect(asked).toBeGreaterThanOrEqual(2);
  });

  test('a search that continues by itself moves neither the scroll position nor the selection, and ends', async () => {
    await using at = await openServer(scripted([]));
    const { store } = at.reprise;
    const { id } = await store.create({ id: 's', key: 'agent:main:session:s' });
    const lines = Array.from({ length: 40 }, (_, i) => message('user', `needle ${i}`));
    await store.append(id, [message('user', 'haystack'), ...lines] as never);
    await using opened = await openPage(`${at.url}/#token=${TOKEN}`);
    const { page } = opened;
    let asked = 0;
    const gates = Array.from({ length: 7 }, () => Promise.withResolvers<void>());
    await page.route('**/api/search?*', async (route) => {
      const response = await route.fetch();
      const { data, ...rest } = await response.json();
      if (new URL(route.request().url()).searchParams.get('q') !== 'needle')
        return route.fulfill({ response, json: { ...rest, data } });
      // The newest are found last, one more each time, and something is always left.
      const found = data.slice(10 - ++asked);
      await gates[asked]?.promise;
      await route.fulfill({ response, json: { ...rest, data: found, complete: false } });
    });
    await page.getByRole('button', { name: 'Search all sessions' }).click();
    await page.clock.install();
    const field = page.locator('.search-field');
    const chosen = page.locator('.hits [aria-selected=true]');
    await field.fill('needle');
    const answer = async (nth: number): Promise<void> => {
      gates[nth]?.resolve();
      await page.getByText(`Results: ${30 + nth}`).waitFor();
    };
    await answer(1);
    await field.press('ArrowDown');
    await expect.poll(() => chosen.textContent()).toContain('needle 29');
    const list = page.locator('dialog .inside');
    const far = await list.evaluate((element) => {
      element.scrollTop = element.scrollHeight;
      return element.scrollTop;
    });
    expect(far).toBeGreaterThan(0);
    await answer(2);
    expect(await list.evaluate(({ scrollTop }) => scrollTop)).toBeGreaterThanOrEqual(far);
    expect(await chosen.textContent()).toContain('needle 29');
    // However long it is left open.
    for (let nth = 3; nth <= 6; nth++) {
      await page.clock.fastForward(17_000);
      await answer(nth);
    }
    await page.clock.fastForward(60_000);
    await page.getByText('Not all messages have been searched yet.').waitFor();
    await field.fill('haystack');
    await page.getByText('Results: 1').waitFor();
    expect(asked).toBe(6);
  });

  test('a channel message is found by its channel, under the name of its session, before the list has loaded it', async () => {
    await using at = await openServer(scripted([]));
    const { store } = at.reprise;
    const rain = [message('user', 'Will it rain on Friday?'), message('assistant', 'It will.')];
    const { id } = await store.create({ id: 'tg', key: 'agent:main:telegram:direct:42' });
    await store.append(id, rain as never);
    for (let i = 0; i < 130; i++) {
      const other = await store.create({ id: `o${i}`, key: `agent:main:session:o${i}` });
      await store.append(other.id, [message('user', i < 60 ? `rain ${i}` : `sun ${i}`)] as never);
    }
    await using opened = await openPage(`${at.url}/#token=${TOKEN}`);
    const { page } = opened;
    await page.locator('.session').first().waitFor();
    expect(await page.locator('.session').getByText('Will it rain').count()).toBe(0);
    // In the field that knows names only; it leads to the one that knows words.
    await page.getByLabel('Filter sessions').fill('rain friday');
    await page.getByText('Nothing matches these filters').waitFor();
    await page.getByRole('button', { name: 'Search all messages' }).click();

    const hits = page.locator('.hits [role=option]:not(.offer)');
    await expect.poll(() => hits.locator('b').allTextContents()).toEqual(['Will it rain on Friday?']);
    expect(await hits.locator('.badge').textContent()).toBe('telegram');
    // Enter that takes what an input method offers opens nothing.
    await page
      .locator('.search-field')
      .dispatchEvent('keydown', { key: 'Enter', isComposing: true, bubbles: true });
    await page.locator('.search-field').fill('rain');
    await page.getByText('Results: 50').waitFor();
    // Older hits of a question that is not asked any more come too late.
    const held = Promise.withResolvers<void>();
    const isOlder = (url: URL): boolean => url.searchParams.has('after');
    await page.route(isOlder, async (asked) => {
      await held.promise;
      await asked.continue();
    });
    const late = page.waitForResponse((answer) => isOlder(new URL(answer.url())));
    await page.getByRole('button', { name: 'Show older' }).click();
    await page.locator('.search-field').fill('sun');
    await expect.poll(() => hits.first().textContent()).toContain('sun');
    held.resolve();
    await (await late).finished();
    await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn))));
    expect((await hits.allTextContents()).filter((text) => text.includes('rain'))).toEqual([]);
    await page.locator('.search-field').fill('rain');
    await expect.poll(() => hits.first().textContent()).toContain('rain');
    await page.getByRole('dialog').getByLabel('Channel').selectOption('telegram');
    await expect.poll(() => hits.count()).toBe(1);
    expect(await complaintsOf(page)).toEqual([]);
    const flashed = await rememberFlashes(page);
    await page.locator('.search-field').press('Enter');
    await expect.poll(flashed).toContain('Will it rain on Friday?');
  });

  test('a link to a missing or invalid session says so and offers a way back', async () => {
    await using at = await openServer(scripted(['hello']));
    await using opened = await openPage(`${at.url}/#token=${TOKEN}`);
    const { page } = opened;
    for (const [hash, told] of [
      ['#/s/main/nobody', 'Session not found'],
      ['#/s/nobody/s', 'Session not found'],
      ['#/s/main/..%2F..%2Fetc', "Can't show this session"],
    ] as const) {
      await page.goto(`${at.url}/${hash}`);
      await page.getByRole('heading', { name: told }).waitFor();
      expect(await page.locator('[aria-busy=true]').count()).toBe(0);
      await page.getByRole('main').getByRole('link', { name: 'New chat' }).click();
      await page.getByText('Start a conversation').waitFor();
    }
    // It has no messages.
    await page.getByLabel('Message', { exact: true }).fill('/nonsense');
    await page.keyboard.press('Enter');
    const answer = page.getByRole('dialog', { name: '/nonsense' });
    await answer.getByText('There is no command /nonsense').waitFor();
    await page.keyboard.press('Escape');
    await answer.waitFor({ state: 'detached' });
    await page.getByText('Start a conversation').waitFor();
    await page.getByLabel('Message', { exact: true }).fill('hi');
    await page.keyboard.press('Enter');
    await page.locator('.answer:not(.live)').getByText('hello').waitFor();
  });
});
