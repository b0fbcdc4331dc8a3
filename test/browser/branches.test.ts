// @module-tag long
import { randomBytes } from 'node:crypto';
import { crc32, deflateSync } from 'node:zlib';
import type { Locator, Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { scripted } from '../support/engine/engine.ts';
import { type OpenedServer, openServer, TOKEN } from '../support/server/server.ts';
import { complaintsOf } from './support/axe.ts';
import { openPage } from './support/browser.ts';

const answers = (page: Page): Locator => page.locator('.answer:not(.live) .markdown');
const said = (page: Page): Locator => page.locator('.message.user .said');
const switcher = (page: Page): Locator => page.locator('.switcher');

async function talk(at: OpenedServer, ...texts: readonly string[]): Promise<void> {
  for (const message of texts) await (await at.chat({ message, sessionId: 's' })).text();
}

async function choose(page: Page, where: Locator, name: string): Promise<void> {
  await where.hover();
  await where.getByRole('button', { name: /actions$/ }).click();
  await page.getByRole('menuitem', { name }).click();
}

async function sayInstead(page: Page, at: number, text: string): Promise<void> {
  await choose(page, page.locator('.message.user').nth(at), 'Edit');
  const field = page.getByLabel('Message', { exact: true });
  // The words of the message come a frame after the note above the field.
  await expect.poll(() => field.inputValue()).not.toBe('');
  await field.fill(text);
  await page.keyboard.press('Enter');
}

/** A picture that cannot be packed small. */
function noise(side: number): Buffer {
  const chunk = (type: string, data: Buffer): Buffer => {
    const body = Buffer.concat([Buffer.from(type), data]);
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(data.length);
    sum.writeUInt32BE(crc32(body));
    return Buffer.concat([length, body, sum]);
  };
  const head = Buffer.from([0, 0, 0, side, 0, 0, 0, side, 8, 2, 0, 0, 0]);
  const lines = Array.from({ length: side }, () => Buffer.concat([Buffer.alloc(1), randomBytes(side * 3)]));
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  const data = chunk('IDAT', deflateSync(Buffer.concat(lines)));
  return Buffer.concat([signature, chunk('IHDR', head), data, chunk('IEND', Buffer.alloc(0))]);
}

describe('I-76 where a conversation branches', () => {
  test('its message leads to each branch, after a retry and after an edit, and back', async () => {
    await using at = await openServer(scripted(['one', 'two', 'three', 'four']));
    await talk(at, 'tell me');
    await using opened = await openPage(`${at.url}/#token=${TOKEN}`);
    const { page, complaints } = opened;
    await page.goto(`${at.url}/#/s/main/s`);
    await answers(page).getByText('one').waitFor();
    expect(await switcher(page).count()).toBe(0);
    await choose(page, page.locator('.answer'), 'Regenerate');
    await answers(page).getByText('two').waitFor();
    await expect.poll(() => switcher(page).textContent()).toBe('‹2/2›');
    await sayInstead(page, 0, 'tell me more');
    await answers(page).getByText('three').waitFor();
    await expect.poll(() => switcher(page).textContent()).toBe('‹3/3›');
    // It says where it is to who cannot see it, and the way on is closed at the end.
    const group = page.getByRole('group', { name: 'Branch 3 of 3' });
    expect(await group.getByRole('button', { name: 'Next branch' }).isDisabled()).toBe(true);
    expect(await complaintsOf(page)).toEqual([]);
    // With keys alone: the button stays under them while there is a branch before.
    const focused = (): Promise<string | null> =>
      page.evaluate(() => document.activeElement?.getAttribute('aria-label') ?? null);
    const before = group.getByRole('button', { name: 'Previous branch' });
    await expect.poll(() => before.isEnabled()).toBe(true); // not before its turn is over
    await before.focus();
    for (const [answer, next] of [
      ['two', 'Previous branch'],
      ['one', 'Next branch'],
    ] as const) {
      await page.keyboard.press('Enter');
      await expect.poll(() => answers(page).allTextContents()).toEqual([answer]);
      await expect.poll(focused).toBe(next);
    }
    expect(await switcher(page).textContent()).toBe('‹1/3›');
    expect(await said(page).allTextContents()).toEqual(['tell me']);
    // A new message continues the branch that is shown.
    await page.getByLabel('Message', { exact: true }).fill('and then?');
    await page.keyboard.press('Enter');
    await answers(page).getByText('four').waitFor();
    await expect.poll(() => said(page).allTextContents()).toEqual(['tell me', 'and then?']);
    await switcher(page).getByRole('button', { name: 'Next branch' }).click();
    await expect.poll(() => answers(page).allTextContents()).toEqual(['two']);
    // The toast of this step: that of the step before disappears when it arrives.
    await page.locator('.toast', { hasText: 'Branch 2 of 3' }).getByRole('button', { name: 'Undo' }).click();
    await expect.poll(() => answers(page).allTextContents()).toEqual(['one', 'four']);
    await page.reload();
    await expect.poll(() => answers(page).allTextContents()).toEqual(['one', 'four']);
    expect(await switcher(page).textContent()).toBe('‹1/3›');
    expect(complaints).toEqual([]);
  });

  test('an earlier message is edited in its place, with its image, and what followed stays as a branch', async () => {
    const model = scripted(['one', 'two', 'three']);
    await using at = await openServer(model);
    // One in its line, one that is kept beside it.
    const images = [1, 160].map((side) => ({ data: noise(side).toString('base64'), mimeType: 'image/png' }));
    await (await at.chat({ message: 'look', sessionId: 's', images })).text();
    await talk(at, 'go on');
    await using opened = await openPage(`${at.url}/#token=${TOKEN}`);
    const { page } = opened;
    await page.goto(`${at.url}/#/s/main/s`);
    await answers(page).getByText('two').waitFor();
    await sayInstead(page, 0, 'look closer');
    await answers(page).getByText('three').waitFor();
    await expect.poll(() => said(page).allTextContents()).toEqual(['look closer']);
    const asked = JSON.stringify(model.requests.at(-1));
    for (const { data } of images) expect(asked.includes(data)).toBe(true);
    await switcher(page).getByRole('button', { name: 'Previous branch' }).click();
    await expect.poll(() => said(page).allTextContents()).toEqual(['look', 'go on']);
  });

  test('the first of two messages that were answered together can be edited', async () => {
    await using at = await openServer(scripted(['together', 'alone']));
    const { store } = at.reprise;
    const { id } = await store.create({ id: 's', key: 'agent:main:session:s' });
    const message = (role: string, text: string): object => ({
      type: 'message',
      message: { role, content: [{ type: 'text', text }] },
    });
    await store.append(id, [
      message('user', 'a'),
      message('user', 'b'),
      message('assistant', 'both'),
    ] as never);
    await using opened = await openPage(`${at.url}/#token=${TOKEN}`);
    const { page } = opened;
    await page.goto(`${at.url}/#/s/main/s`);
    await answers(page).getByText('both').waitFor();
    await sayInstead(page, 0, 'A');
    await answers(page).getByText('together').waitFor();
    await expect.poll(() => said(page).allTextContents()).toEqual(['A']);
    await expect.poll(() => switcher(page).textContent()).toBe('‹2/2›');
  });

  test('branches of other clients are counted, and Undo returns to the branch that was shown, not to the last step', async () => {
    await using at = await openServer(scripted(['one', 'two', 'three', 'four']));
    await talk(at, 'tell me');
    const session = await at.reprise.session({ id: 's' });
    const again = async (): Promise<void> => {
      await session.sendAgain().result;
    };
    await again();
    await using opened = await openPage(`${at.url}/#token=${TOKEN}`);
    const { page } = opened;
    await page.goto(`${at.url}/#/s/main/s`);
    await answers(page).getByText('two').waitFor();
    expect(await switcher(page).textContent()).toBe('‹2/2›');
    // Another client regenerates and comes back: the last message is the same, and there is one branch more.
    const { leaf } = await session.record();
    await again();
    await session.branch(leaf ?? '');
    await expect.poll(() => switcher(page).textContent()).toBe('‹2/3›');
    expect(await answers(page).allTextContents()).toEqual(['two']);
    await switcher(page).getByRole('button', { name: 'Previous branch' }).click();
    await expect.poll(() => answers(page).allTextContents()).toEqual(['one']);
    // Another client does and undoes something before the button is pressed.
    await session.undo();
    await session.redo();
    const undo = page.locator('.toast').getByRole('button', { name: 'Undo' });
    await expect.poll(() => undo.count()).toBe(1);
    await undo.click();
    await expect.poll(() => answers(page).allTextContents()).toEqual(['two']);
    await at.request('/api/agents/main/sessions/s', { method: 'DELETE' });
    await page.getByText('This session is in the trash').waitFor();
    expect(await switcher(page).count()).toBe(0);
  });

  test('I-71 an edit stays in its place, though its author is elsewhere before the server accepts it', async () => {
    await using at = await openServer(scripted(['one', 'two', 'three']));
    await talk(at, 'tell me', 'go on');
    await using opened = await openPage(`${at.url}/#token=${TOKEN}`);
    const { page } = opened;
    await page.goto(`${at.url}/#/s/main/s`);
    await answers(page).getByText('two').waitFor();
    const held = Promise.withResolvers<void>();
    for (const path of ['**/chat', '**/branch'])
      await page.route(path, async (asked) => {
        await held.promise;
        await asked.continue().catch(() => undefined);
      });
    await sayInstead(page, 0, 'tell me more');
    await page.getByRole('link', { name: 'New chat', exact: true }).click();
    await page.getByText('Start a conversation').waitFor();
    held.resolve();
    await page.goto(`${at.url}/#/s/main/s`);
    await answers(page).getByText('three').waitFor();
    await expect.poll(() => said(page).allTextContents()).toEqual(['tell me more']);
    await expect.poll(() => switcher(page).textContent()).toBe('‹2/2›');
  });

  test('I-71 an edit while the server is away is in the field after a reload, still in place of its message', async () => {
    await using at = await openServer(scripted(['one', 'two']));
    await talk(at, 'tell me');
    await using opened = await openPage(`${at.url}/#token=${TOKEN}`);
    const { page } = opened;
    await page.goto(`${at.url}/#/s/main/s`);
    await answers(page).getByText('one').waitFor();
    await page.route('**/chat', (asked) => asked.abort());
    await sayInstead(page, 0, 'tell me more');
    await page.locator('.message.sending').getByText('tell me more').waitFor();
    await page.reload();
    await answers(page).getByText('one').waitFor();
    const field = page.getByLabel('Message', { exact: true });
    expect(await field.inputValue()).toBe('tell me more');
    expect(await said(page).allTextContents()).toEqual(['tell me']);
    // It still stands for that message, however often the page is loaded and with whatever words.
    await page.getByText('Editing. The current version stays as a branch.').waitFor();
    await field.fill('tell me everything');
    await page.reload();
    await answers(page).getByText('one').waitFor();
    expect(await field.inputValue()).toBe('tell me everything');
    // Another view loads nothing again: what was typed since is still in the field.
    await field.fill('tell me all');
    await page.getByRole('link', { name: 'Statistics' }).click();
    await field.waitFor({ state: 'detached' });
    const drawn = await page.evaluateHandle(() => {
      const values: (string | undefined)[] = [];
      const look = (): unknown => values.push(document.querySelector('textarea')?.value);
      new MutationObserver(look).observe(document.body, { childList: true, subtree: true });
      return values;
    });
    await page.goBack();
    await page.getByText('Editing. The current version stays as a branch.').waitFor();
    expect(await field.inputValue()).toBe('tell me all');
    // From its first moment: a user does not type into a field that is filled meanwhile.
    expect((await drawn.jsonValue()).find((value) => value !== undefined)).toBe('tell me all');
    await page.unroute('**/chat');
    await field.press('Enter');
    await answers(page).getByText('two').waitFor();
    await expect.poll(() => said(page).allTextContents()).toEqual(['tell me all']);
    await expect.poll(() => switcher(page).textContent()).toBe('‹2/2›');
    expect(await field.inputValue()).toBe('');
  });

  test('I-71 an edit that was accepted while the page was reloaded is stored once, though sent a second time', async () => {
    await using at = await openServer(scripted(['one', 'two']));
    await talk(at, 'tell me');
    await using opened = await openPage(`${at.url}/#token=${TOKEN}`);
    const { page } = opened;
    await page.goto(`${at.url}/#/s/main/s`);
    await answers(page).getByText('one').waitFor();
    const heard = Promise.withResolvers<void>();
    await page.route('**/chat', async (asked) => {
      // The server does it, and the page never learns.
      await asked.fetch();
      heard.resolve();
    });
    await sayInstead(page, 0, 'tell me more');
    await heard.promise;
    // Let through no sooner: a request that is still held back would reach the server, and the page would learn.
    await page.reload();
    await page.unroute('**/chat');
    await answers(page).getByText('two').waitFor();
    await page.getByText('Editing. The current version stays as a branch.').waitFor();
    const field = page.getByLabel('Message', { exact: true });
    // Other words, and the same again: still the ones that were sent.
    for (const text of ['tell me more!', 'tell me more']) await field.fill(text);
    await field.press('Enter');
    await expect.poll(() => field.inputValue()).toBe('');
    await expect.poll(() => page.locator('.message.sending').count()).toBe(0);
    await expect.poll(() => said(page).allTextContents()).toEqual(['tell me more']);
    await expect.poll(() => switcher(page).textContent()).toBe('‹2/2›');
  });

  test('a long branch opens at its first message, however far its end is', async () => {
    await using at = await openServer(scripted(['short']));
    const { store } = at.reprise;
    const { id } = await store.create({ id: 's', key: 'agent:main:session:s' });
    const entry = (i: number): object => ({
      type: 'message',
      message: { role: i % 2 === 0 ? 'user' : 'assistant', content: [{ type: 'text', text: `entry ${i}` }] },
    });
    await store.append(id, Array.from({ length: 400 }, (_, i) => entry(i)) as never);
    await using opened = await openPage(`${at.url}/#token=${TOKEN}`);
    const { page } = opened;
    await page.goto(`${at.url}/#/s/main/s/2`);
    await said(page).getByText('entry 0', { exact: true }).waitFor();
    await sayInstead(page, 0, 'another beginning');
    await answers(page).getByText('short').waitFor();
    await switcher(page).getByRole('button', { name: 'Previous branch' }).click();
    await said(page).getByText('entry 0', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Jump to latest' }).click();
    await answers(page).getByText('entry 399').waitFor();
  });
});
