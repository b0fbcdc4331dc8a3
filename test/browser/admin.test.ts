// @module-tag long
import { readFile } from 'node:fs/promises';
import type { Locator, Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { scripted } from '../support/engine/engine.ts';
import { type OpenedServer, openServer, TOKEN } from '../support/server/server.ts';
import { complaintsOf } from './support/axe.ts';
import { openPage } from './support/browser.ts';

/** Whether all of it is where it can be read. */
async function isInSight(line: Locator): Promise<boolean> {
  return line.evaluate((element) => {
    const inner = element.getBoundingClientRect();
    const outer = element.closest('.scroll')?.getBoundingClientRect();
    return outer !== undefined && inner.top >= outer.top && inner.bottom <= outer.bottom;
  });
}

/** To the tab: the page looks at once, not in a few seconds. */
async function comeBack(page: Page): Promise<void> {
  await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
}

async function hear(at: OpenedServer, peer: string, name: string, ...texts: string[]): Promise<void> {
  for (const text of texts) {
    const body = { text, channel: 'telegram', peer, peerKind: 'direct', sender: { id: peer, name } };
    const headers = { 'content-type': 'application/json' };
    await (
      await at.request('/api/inbound?wait=20', { method: 'POST', headers, body: JSON.stringify(body) })
    ).text();
  }
}

test('all channels are listed, found by channel, sender and words, sorted, and read in a drawer', async () => {
  await using at = await openServer(scripted(['At nine.', 'At noon.', 'Yes.', 'Bye.']), {
    session: { dmScope: 'per-channel-peer' },
  } as never);
  await hear(at, '42', 'Ana', 'When does it open?', 'And on Sundays?');
  await hear(at, '43', 'Bo', 'Is the <b>report</b> done?');
  await using opened = await openPage(`${at.url}/#token=${TOKEN}`);
  const { page, complaints } = opened;
  await page.clock.install();
  await page.getByRole('link', { name: 'Channels' }).click();
  const names = page.locator('.admin-table tbody td:first-child');
  await expect.poll(() => names.allTextContents()).toEqual(['telegram 43', 'telegram 42']);
  // New messages appear by themselves.
  await hear(at, '44', 'Cy', 'And me?');
  await expect.poll(() => comeBack(page).then(() => names.count())).toBe(3);
  await page.getByRole('button', { name: 'Messages' }).click();
  await expect.poll(() => names.first().textContent()).toBe('telegram 42');
  expect(await complaintsOf(page)).toEqual([]);
  await page.getByLabel('Sender').fill('bo');
  await expect.poll(() => names.allTextContents()).toEqual(['telegram 43']);
  await page.getByLabel('Sender').fill('');
  await page.getByLabel('Message text').fill('mondays');
  await page.getByText('Nothing matches these filters').waitFor();
  await page.getByLabel('Message text').fill('sundays');
  await expect.poll(() => names.allTextContents()).toEqual(['telegram 42']);
  // The age is updated while it is shown.
  await page.clock.fastForward('02:00:10');
  const times = page.locator('.admin-table time');
  await expect.poll(() => comeBack(page).then(() => times.allTextContents())).toEqual(['2 hr ago']);
  const [at42] = (await at.reprise.convlog.list({})).chats.filter(({ channelId }) => channelId === '42');
  expect(await times.getAttribute('datetime')).toBe(at42?.lastAt);
  expect(await times.getAttribute('title')).toMatch(/\d\d:\d\d:\d\d$/);
  await names.getByRole('button').click();
  const drawer = page.getByRole('complementary', { name: 'telegram 42' });
  await drawer.getByText('At noon.').waitFor();
  expect(await drawer.locator('.said').allTextContents()).toEqual(['When does it open?', 'And on Sundays?']);
  expect(await complaintsOf(page)).toEqual([]);
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    drawer.getByRole('button', { name: 'Export' }).click(),
  ]);
  expect(download.suggestedFilename()).toBe('telegram-42.jsonl');
  const lines = (await readFile(await download.path(), 'utf8')).trim().split('\n');
  expect(lines.map((line) => JSON.parse(line).content)).toEqual([
    'When does it open?',
    'At nine.',
    'And on Sundays?',
    'At noon.',
  ]);
  await page.keyboard.press('Escape');
  await drawer.waitFor({ state: 'detached' });
  // Sessions by who spoke in them and where.
  await at.reprise.store.create({ id: 'own', key: 'agent:main:session:own' });
  await at.reprise.store.append('own', [
    { type: 'message', message: { role: 'user', content: 'of no channel' } },
  ]);
  await page.getByRole('tab', { name: 'Sessions' }).click();
  await expect.poll(() => names.count()).toBe(4);
  await page.getByLabel('Sender').fill('Bo');
  await page.keyboard.press('Enter');
  await expect.poll(() => names.allTextContents()).toEqual(['Is the <b>report</b> done?']);
  await page.getByLabel('Sender').fill('');
  await page.keyboard.press('Enter');
  await page.getByLabel('Channel').selectOption('telegram');
  await expect.poll(() => names.count()).toBe(3);
  expect(await complaintsOf(page)).toEqual([]);
  expect(complaints).toEqual([]);
});

test.each([
  ['en-GB', 'Agent', 'All', 'Channel'],
  ['zh-CN', '智能体', '全部', '渠道'],
])('channels can be filtered by agent: %s', async (locale, agent, all, channel) => {
  await using at = await openServer(scripted([]));
  const lines = [
    ['main', 'telegram', '42'],
    ['xiuliu', 'telegram', '43'],
    ['xiuliu', 'web', '44'],
  ].map(([agentId = '', channelType = '', channelId = '']) => ({
    ...{ agentId, channelType, channelId },
    ...{ role: 'user' as const, content: 'hello' },
  }));
  await at.reprise.store.convlog.append(lines);
  await using opened = await openPage(`${at.url}/#token=${TOKEN}`, { locale });
  const { page, complaints } = opened;
  await page.goto(`${at.url}/#/chats`);
  const names = page.locator('.admin-table tbody td:first-child button');
  await expect.poll(() => names.count()).toBe(3);
  const choice = page.locator('.admin-filters').getByLabel(agent);
  expect(await choice.locator('option').allTextContents()).toEqual([all, 'main', 'xiuliu']);
  await choice.selectOption('xiuliu');
  await expect.poll(async () => (await names.allTextContents()).sort()).toEqual(['telegram 43', 'web 44']);
  await page.locator('.admin-filters').getByLabel(channel).fill('Web');
  await expect.poll(() => names.allTextContents()).toEqual(['web 44']);
  await choice.selectOption('');
  await page.locator('.admin-filters').getByLabel(channel).fill('TELEGRAM');
  await expect
    .poll(async () => (await names.allTextContents()).sort())
    .toEqual(['telegram 42', 'telegram 43']);
  expect(await complaintsOf(page)).toEqual([]);
  expect(complaints).toEqual([]);
});

test('a channel opens at the matching line, wherever it is, and can be scrolled both ways from there', async () => {
  await using at = await openServer(scripted([]));
  const { store } = at.reprise;
  await store.create({ id: 'busy', key: 'agent:main:slack:group:7' });
  const chat = { agentId: 'main', channelType: 'slack', channelId: '7' };
  const log = Array.from({ length: 300 }, (_, i) => ({
    ...chat,
    role: i === 219 ? ('assistant' as const) : ('user' as const),
    content: i === 99 ? 'Where is my umbrella?' : i === 219 ? 'In the *umbrella* stand' : `words ${i + 1}`,
  }));
  const said = { type: 'message', message: { role: 'user', content: 'hi' } };
  await store.append('busy', [said] as never, { log });
  await using opened = await openPage(`${at.url}/#token=${TOKEN}`);
  const { page, complaints } = opened;
  await page.goto(`${at.url}/#/chats`);
  const row = page.locator('.admin-table tbody').getByRole('button');
  const drawer = page.getByRole('complementary', { name: 'slack 7' });
  const box = drawer.getByRole('region');
  const line = (n: number) => box.locator(`[data-line="${n}"]`);
  // Without a search: the newest messages.
  await row.click();
  await expect.poll(() => isInSight(line(300))).toBe(true);
  await page.keyboard.press('Escape');
  await page.getByLabel('Message text').fill('UMBRELLA');
  await row.click();
  const found = box.locator('[aria-current=true]');
  await expect.poll(() => found.textContent()).toContain('In the umbrella stand');
  await drawer.getByText('Match 1/2').waitFor();
  await drawer.getByRole('button', { name: 'Older match' }).click();
  await expect.poll(() => found.textContent()).toContain('Where is my umbrella?');
  expect(await isInSight(found)).toBe(true);
  expect(await page.evaluate(() => [...(CSS.highlights.get('found') ?? [])].map(String))).toEqual([
    'umbrella',
  ]);
  expect(await complaintsOf(page)).toEqual([]);
  // By keyboard, up to the first line: what was read stays where it was, and the keys keep working.
  const older = drawer.getByRole('button', { name: 'Show older' });
  await older.focus();
  const topOf = async (n: number): Promise<number> => (await line(n).boundingBox())?.y ?? Number.NaN;
  const before = await topOf(51);
  await page.keyboard.press('Enter');
  await older.waitFor({ state: 'detached' });
  await line(1).waitFor();
  expect(Math.abs((await topOf(51)) - before)).toBeLessThan(2);
  await drawer.getByRole('button', { name: 'Show newer' }).click();
  await line(250).waitFor();
  await drawer.getByRole('button', { name: 'Show newer' }).click();
  await line(300).waitFor();
  await drawer.getByRole('button', { name: 'Show newer' }).waitFor({ state: 'detached' });
  await page.keyboard.press('Escape');
  await drawer.waitFor({ state: 'detached' });
  expect(complaints).toEqual([]);
});

test('the largest session comes first although all loaded sessions are newer', async () => {
  await using at = await openServer(scripted([]));
  const { store } = at.reprise;
  const say = async (id: string, totalTokens: number): Promise<void> => {
    await store.create({ id, key: `agent:main:direct:${id}` });
    const usage = { input: totalTokens, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens };
    const message = { role: 'assistant', content: [], usage };
    await store.append(id, [
      { type: 'message', message: { role: 'user', content: `about ${id}` } },
      { type: 'message', message },
    ]);
  };
  await say('whale', 900_000);
  for (let i = 0; i < 120; i++) await say(`minnow-${i}`, 1000 + i);
  await using opened = await openPage(`${at.url}/#token=${TOKEN}`);
  const { page, complaints } = opened;
  await page.goto(`${at.url}/#/chats`);
  await page.getByRole('tab', { name: 'Sessions' }).click();
  const names = page.locator('.admin-table tbody td:first-child');
  await expect.poll(() => names.count()).toBe(100);
  expect(await names.filter({ hasText: 'whale' }).count()).toBe(0);
  await page.getByRole('button', { name: 'Tokens' }).click();
  await expect.poll(() => names.first().textContent()).toBe('about whale');
  expect(await names.nth(1).textContent()).toBe('about minnow-119');
  await page.locator('button.more').click();
  await expect.poll(() => names.count()).toBe(121);
  expect(await names.last().textContent()).toBe('about minnow-0');
  // Where no channel has spoken, what is shown makes one speak.
  await page.getByRole('tab', { name: 'Channels' }).click();
  const command = (await page.locator('.admin-table pre').textContent()) ?? '';
  const [, url = '', body = ''] = /^curl (\S+) [\s\S]*-d '(.*)'$/.exec(command) ?? [];
  const heard = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${TOKEN}` },
    body,
  });
  expect(heard.ok).toBe(true);
  expect((await at.reprise.convlog.list({})).chats.map(({ channelId }) => channelId)).toEqual(['42']);
  expect(complaints).toEqual([]);
});

test('sessions are sorted by tokens, renamed, and deleted after a question; statistics show where tokens went', async () => {
  const usage = {
    input: 500,
    output: 100,
    cacheRead: 0,
    cacheWrite: 0,
    totalTokens: 600,
    cost: { total: 0.25 },
  };
  await using at = await openServer(
    scripted([
      { text: 'a long answer '.repeat(50), usage },
      { text: 'short', usage },
    ]),
  );
  await (await at.chat({ message: 'the big one', sessionId: 'big' })).text();
  await (await at.chat({ message: 'the small one', sessionId: 'small' })).text();
  await using opened = await openPage(`${at.url}/#token=${TOKEN}`);
  const { page, complaints } = opened;
  await page.goto(`${at.url}/#/chats`);
  await page.getByRole('tab', { name: 'Sessions' }).click();
  const names = page.locator('.admin-table tbody td:first-child');
  await expect.poll(() => names.allTextContents()).toEqual(['the small one', 'the big one']);
  await page.getByRole('button', { name: 'Tokens' }).click();
  await names.getByRole('button', { name: 'the big one' }).click();
  const drawer = page.locator('.drawer');
  await drawer.getByText('a long answer').first().waitFor();
  // Another row, beside the drawer that is open, and back.
  await names.getByRole('button', { name: 'the small one' }).click();
  await drawer.getByRole('heading', { name: 'the small one' }).waitFor();
  await names.getByRole('button', { name: 'the big one' }).click();
  await drawer.getByText('a long answer').first().waitFor();
  await drawer.locator('.answer').getByRole('button', { name: 'Message actions' }).click();
  const explain = page.getByRole('menuitem', { name: 'What the model received' });
  await explain.waitFor();
  expect(await page.getByRole('menuitem', { name: 'Regenerate' }).count()).toBe(0);
  await explain.click();
  await page.getByRole('dialog').getByText('Model call 1').waitFor();
  const { entries } = await at.reprise.store.read('big', { limit: 10 });
  const [row = ''] = entries.flatMap(({ entry }) => entry.seal?.k ?? []);
  await page.getByRole('dialog').getByRole('listitem').filter({ hasText: row }).getByText('#1').waitFor();
  await page.keyboard.press('Escape');
  await drawer.getByRole('button', { name: 'Session actions' }).click();
  await page.getByRole('menuitem', { name: 'Rename' }).click();
  await drawer.getByLabel('Name', { exact: true }).fill('Renamed');
  await page.keyboard.press('Enter');
  await drawer.getByRole('heading', { name: 'Renamed' }).waitFor();
  await drawer.getByRole('button', { name: 'Session actions' }).click();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('menuitem', { name: 'Export' }).click(),
  ]);
  expect(download.suggestedFilename()).toBe('Renamed.jsonl');
  await drawer.getByRole('button', { name: 'Session actions' }).click();
  await page.getByRole('menuitem', { name: 'Move to trash' }).click();
  await drawer.getByText('Move “Renamed” to the trash?').waitFor();
  expect((await at.reprise.store.get('big')).status).toBe('open');
  await drawer.getByRole('button', { name: 'Move to trash' }).click();
  await expect.poll(() => names.allTextContents()).toEqual(['the small one']);
  expect((await at.reprise.store.get('big')).status).toBe('deleted');
  await page.getByRole('link', { name: 'Statistics' }).click();
  await page.locator('.charts').getByText('$0.50', { exact: true }).waitFor();
  expect(await page.locator('.bars').first().textContent()).toBe('main · $0.501.2k');
  await expect.poll(() => page.locator('.columns').first().locator('li').count()).toBeGreaterThanOrEqual(29);
  await page.getByRole('button', { name: '7 days' }).click();
  await expect.poll(() => page.locator('.columns').first().locator('li').count()).toBeLessThanOrEqual(7);
  expect(await page.getByRole('button', { name: '7 days' }).getAttribute('aria-pressed')).toBe('true');
  expect(await complaintsOf(page)).toEqual([]);
  expect(complaints).toEqual([]);
});

test('days are those of UTC, also where it is still yesterday', async () => {
  const usage = { input: 5, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 6 };
  await using at = await openServer(scripted([{ text: 'hello', usage }]));
  await (await at.chat({ message: 'hi', sessionId: 's' })).text();
  await using opened = await openPage(`${at.url}/#token=${TOKEN}`, {
    timezoneId: 'America/New_York',
  });
  const { page } = opened;
  await page.goto(`${at.url}/#/stats`);
  const last = page.locator('.columns li').last();
  const [day = ''] = ((await last.locator('.offscreen').textContent()) ?? '').split(':');
  const told = new Date(day).toLocaleDateString('en-GB', {
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    timeZone: 'UTC',
  });
  expect(await page.locator('.ends span').last().textContent()).toBe(told);
  expect(await last.getAttribute('title')).toContain(told);
});
