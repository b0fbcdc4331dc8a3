import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { scripted } from '../support/engine/engine.ts';
import { gate, type OpenedServer, openServer, TOKEN } from '../support/server/server.ts';
import { complaintsOf } from './support/axe.ts';
import { openPage } from './support/browser.ts';

const bar = (page: Page) => page.locator('.context > summary');

async function hear(
  at: OpenedServer,
  sender: { id: string; name: string },
  text: string,
  peer = '-100',
): Promise<void> {
  const body = { text, channel: 'telegram', peer, peerKind: 'group', sender };
  const headers = { 'content-type': 'application/json' };
  await (
    await at.request('/api/inbound?wait=20', { method: 'POST', headers, body: JSON.stringify(body) })
  ).text();
}

describe('a person who never saw the page', () => {
  test('finds what fills the context, what a summary replaced, and how to undo it', async () => {
    const long = 'Long words about many things. '.repeat(80);
    const model = scripted(
      [...Array.from({ length: 16 }, (_, i) => `answer ${i} ${long}`), 'A SUMMARY of it'],
      20_000,
    );
    await using at = await openServer(model);
    for (let i = 0; i < 16; i++)
      await (await at.chat({ message: `question ${i} about src/file-${i}.ts`, sessionId: 's' })).text();
    const session = await at.reprise.session({ id: 's' });
    expect(await session.compact()).not.toBeNull();
    await using opened = await openPage(`${at.url}/#token=${TOKEN}`);
    const { page, complaints } = opened;
    await page.goto(`${at.url}/#/s/main/s`);
    await page.locator('.answer').getByText('answer 15').waitFor();
    await bar(page).click();
    const panel = page.locator('.popped');
    await panel.getByText('Context sent to the model').waitFor();
    const { split } = await session.context();
    const parts = await panel.locator('dt').allTextContents();
    expect(parts).toEqual([
      'Summary of older messages',
      'Earlier messages',
      'Latest turn',
      'Safety margin of the estimate',
    ]);
    expect(Object.values(split).filter((tokens) => tokens > 0)).toHaveLength(parts.length);
    expect(await complaintsOf(page)).toEqual([]);
    // By keyboard: the focus goes where it led to, and is not lost with what goes.
    const focused = (): Promise<string | undefined> =>
      page.evaluate(() => document.activeElement?.closest('.fold, .messages')?.classList[0]);
    await panel.getByRole('button', { name: 'Show the summary' }).press('Enter');
    const rule = page.locator('.fold');
    await rule.getByText(/^\d+ messages → summary$/).waitFor();
    await panel.waitFor({ state: 'detached' });
    await expect.poll(focused).toBe('fold');
    await rule.getByRole('button', { name: 'Original messages' }).click();
    await page.locator('.said').getByText('question 0 about').waitFor();
    await rule.getByRole('button', { name: 'Undo' }).press('Enter');
    await rule.waitFor({ state: 'detached' });
    await expect.poll(focused).toBe('scroll');
    expect((await session.context()).split.summary).toBe(0);
    expect(complaints).toEqual([]);
  });

  test('sees the senders of a channel, and downloads all of its messages as a file', async () => {
    await using at = await openServer(scripted(['Noted.', 'On Friday.']));
    await hear(at, { id: '1', name: 'Ada' }, 'our meeting is on Friday');
    await hear(at, { id: '2', name: 'Ben' }, 'when is our meeting?');
    const { sessions } = await at.reprise.sessions({ limit: 1 });
    const id = sessions[0]?.id ?? '';
    await using opened = await openPage(`${at.url}/#token=${TOKEN}`);
    const { page } = opened;
    await page.locator('.session').click();
    await page.locator('.answer').getByText('On Friday.').waitFor();
    const users = page.locator('.message.user');
    expect(await users.locator('header b').allTextContents()).toEqual(['Ada', 'Ben']);
    expect(await users.locator('.said').allTextContents()).toEqual([
      'our meeting is on Friday',
      'when is our meeting?',
    ]);
    await page
      .locator('.chat-head')
      .getByRole('button', { name: /actions$/ })
      .click();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('menuitem', { name: 'Export as JSONL' }).click(),
    ]);
    expect(download.suggestedFilename()).toMatch(/^[\p{L}\p{N}-]+\.jsonl$/u);
    const file = readFileSync(await download.path());
    expect(file.equals(await at.reprise.store.exportSession(id))).toBe(true);
  });

  test('narrows the list to the sessions with one sender', async () => {
    await using at = await openServer(scripted(['Hi.', 'Hello.', 'Good day.']));
    await hear(at, { id: '1', name: 'Ada' }, 'I am in a group');
    await (await at.chat({ message: 'nobody else is here', sessionId: 'own' })).text();
    await using opened = await openPage(`${at.url}/#token=${TOKEN}`);
    const { page } = opened;
    const names = page.locator('.session .name');
    await expect.poll(() => names.count()).toBe(2);
    await page.locator('.facets > summary').click();
    await page.locator('.facets select').first().waitFor();
    const edges = page.locator('.facets > div, .facets select').evaluateAll((all) => {
      return all.map((one) => one.getBoundingClientRect().right);
    });
    const [panel = 0, ...fields] = await edges;
    expect(Math.max(...fields)).toBeLessThan(panel);
    await page.locator('.facets').getByLabel('Sender').fill('ada');
    await page.keyboard.press('Enter');
    await expect.poll(() => names.allTextContents()).toEqual(['[Ada] I am in a group']);
    await page.locator('.facets').getByLabel('Sender').fill('nobody');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await expect.poll(() => names.count()).toBe(2);
  });

  test('has the sessions of a member in any order, by kind, and sees new messages in the open one', async () => {
    await using at = await openServer(scripted(['Hi.', 'Still here.', 'Hello.', 'Right.']));
    const ada = { id: '1', name: 'Ada' };
    await hear(at, ada, 'I speak twice here', '-100');
    await hear(at, ada, 'once more', '-100');
    await hear(at, ada, 'and once there', '-200');
    await using opened = await openPage(`${at.url}/#token=${TOKEN}`);
    const { page } = opened;
    const names = page.locator('.session .name');
    await page.locator('.facets > summary').click();
    const member = page.locator('.facets').getByLabel('Sender');
    await member.fill('ada');
    await member.press('Enter');
    await expect
      .poll(() => names.allTextContents())
      .toEqual(['[Ada] and once there', '[Ada] I speak twice here']);
    await page.locator('.facets > summary').click();
    await names.last().click();
    await page.locator('.answer').getByText('Still here.').waitFor();
    // Also while the list does not have it.
    const only = async (kind: string, count: number): Promise<void> => {
      await page.locator('.facets > summary').click();
      await page.locator('.facets').getByLabel('Kind').selectOption(kind);
      await expect.poll(() => names.count()).toBe(count);
      await page.locator('.facets > summary').click();
    };
    await only('direct', 0);
    await hear(at, { id: '2', name: 'Ben' }, 'I agree', '-100');
    await page.locator('.answer').getByText('Right.').waitFor();
    await only('group', 2);
    await page.goto(`${at.url}/#/chats`);
    await page.getByRole('tab', { name: 'Sessions' }).click();
    await page.getByRole('button', { name: 'Messages' }).click();
    const rows = page.locator('.admin-table tbody td:first-child');
    await expect
      .poll(() => rows.allTextContents())
      .toEqual(['[Ada] I speak twice here', '[Ada] and once there']);
  });

  test('is informed that a server is slow, behind a proxy that does not let requests through, or of another version', async () => {
    await using at = await openServer(scripted(['hello']));
    await (await at.chat({ message: 'hi', sessionId: 's' })).text();
    await using opened = await openPage(`${at.url}/#token=${TOKEN}`);
    const { page } = opened;
    const { opened: answers, open } = gate();
    await page.route('**/sessions/s?*', async (asked) => {
      await answers;
      await asked.continue();
    });
    await page.goto(`${at.url}/#/s/main/s`);
    await page.getByText('Loading…').waitFor();
    open();
    await page.locator('.answer').getByText('hello').waitFor();
    expect(await page.getByText('Loading…').count()).toBe(0);
    // A proxy answers in its place, with its own page.
    const told = page.getByText("Can't reach the server. Retrying…");
    await page.route('**/api/**', (asked) => asked.fulfill({ contentType: 'text/html', body: '<p>Log in' }));
    await page.getByRole('link', { name: 'Channels' }).click();
    await told.waitFor();
    await page.unroute('**/api/**');
    await told.waitFor({ state: 'detached' });
    await page.locator('.admin-table tbody').getByRole('button').waitFor();
    // A server that has not what this page asks for.
    await page.route('**/api/stats', (asked) => asked.continue({ url: `${at.url}/api/not-here` }));
    await page.getByRole('link', { name: 'Statistics' }).click();
    await page.getByText('The page and the server have different versions. Reload the page.').waitFor();
  });
});
