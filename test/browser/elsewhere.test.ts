// @module-tag long
import type { Locator, Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import type { Tool } from '../../src/engine/tools/tool.ts';
import type { ScriptedStep } from '../../src/models/scripted/scripted-model.ts';
import { scripted } from '../support/engine/engine.ts';
import { pacedModel } from '../support/engine/paced-model.ts';
import { gate, type OpenedServer, openServer, TOKEN } from '../support/server/server.ts';
import { type OpenedPage, openPage } from './support/browser.ts';
import { rememberFlashes } from './support/flashes.ts';

const answers = (page: Page): Locator => page.locator('.answer:not(.live) .markdown');

async function say(page: Page, text: string): Promise<void> {
  await page.getByLabel('Message', { exact: true }).fill(text);
  await page.keyboard.press('Enter');
}

/** What the server says of clients that did not read. */
async function streamsCut(at: OpenedServer): Promise<number> {
  const told = await (await at.request('/metrics')).text();
  return Number(/^reprise_streams_cut_total (\d+)$/m.exec(told)?.[1] ?? 0);
}

/** Wakes when its test ends, however it ends: other tests share the browser. */
interface Asleep extends AsyncDisposable {
  wake(): Promise<void>;
}

/**
 * As a phone does with a hidden tab: it is frozen, then its process stopped. The first alone only holds
 * back its timers; it would read on.
 */
async function putToSleep({ page, context }: OpenedPage): Promise<Asleep> {
  const tab = await context.newCDPSession(page);
  await tab.send('Page.setWebLifecycleState', { state: 'frozen' });
  const all = await context.browser()?.newBrowserCDPSession();
  if (all === undefined) throw new Error('this context has no browser');
  const { processInfo } = await all.send('SystemInfo.getProcessInfo');
  const renderers = processInfo.filter(({ type }) => type === 'renderer').map(({ id }) => id);
  let isAsleep = true;
  const wake = async (): Promise<void> => {
    if (!isAsleep) return;
    isAsleep = false;
    for (const pid of renderers) signalTo(pid, 'SIGCONT');
    await tab.send('Page.setWebLifecycleState', { state: 'active' });
  };
  for (const pid of renderers) signalTo(pid, 'SIGSTOP');
  return { wake, [Symbol.asyncDispose]: wake };
}

/** One of a page that was just closed may have ended since it was listed. */
function signalTo(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

describe('T82 what happens while the page is hidden, or somewhere else', () => {
  test('a tab that sleeps until the server disconnects it receives all when it wakes, once and to the letter', async () => {
    const WORDS = 30;
    // More than a machine keeps for who does not read, however it is set up.
    const MOST_CALLS = 40;
    // JSON spells each of these with six: much to send, and little to draw.
    const filler = '\u0001'.repeat(10_000);
    const words = (call: number): string[] =>
      Array.from({ length: WORDS }, (_, i) => `(${call * WORDS + i})${filler} `);
    const [sleeps, wakes] = [gate(), gate()];
    let calls = 0;
    let isCut = false;
    const wait: Tool = {
      name: 'wait',
      description: 'Waits: after the first words until the tab sleeps, after the last until it woke.',
      inputSchema: { type: 'object', properties: {} },
      safe: true,
      run: async () => {
        await sleeps.opened;
        isCut = (await streamsCut(at)) > 0;
        if (isCut) await wakes.opened;
        return 'done';
      },
    };
    // As much as it takes until the server lets go.
    const step = (): ScriptedStep =>
      isCut ? 'the end' : { text: words(calls++), calls: [{ name: 'wait' }] };
    const limits = { streamBufferBytes: 350_000 };
    await using at = await openServer(
      scripted(Array<ScriptedStep>(MOST_CALLS).fill(step), 100_000_000),
      { tools: [wait] },
      { limits },
    );
    await using opened = await openPage(`${at.url}/#token=${TOKEN}`);
    const { page, complaints } = opened;
    await say(page, 'count');
    await page.locator('.live .tool').waitFor();
    await using tab = await putToSleep(opened);
    expect(await streamsCut(at)).toBe(0);
    // The machine keeps some megabytes for who does not read, and then the server as much as it may.
    sleeps.open();
    await expect.poll(() => isCut).toBe(true);
    expect(await streamsCut(at)).toBe(1);
    await tab.wake();
    const live = page.locator('.live');
    await expect.poll(() => live.locator('.tool').count()).toBe(calls);
    const told = (await live.locator('.markdown').allTextContents()).map((text) => text.trim());
    const numbers = told.flatMap((text) => text.match(/\d+/g) ?? []).map(Number);
    expect(numbers).toEqual(Array.from({ length: calls * WORDS }, (_, i) => i));
    expect(told.every((text, call) => text === words(call).join('').trim())).toBe(true);
    wakes.open();
    await answers(page).getByText('the end').waitFor();
    await expect.poll(() => live.count()).toBe(0);
    expect(complaints).toEqual([]);
  });

  test('two tabs of one session show the same: the answer as it arrives, and messages of the other tab', async () => {
    const model = pacedModel(['one ', 'two ', 'three']);
    await using at = await openServer(model);
    await using first = await openPage(`${at.url}/#token=${TOKEN}`);
    await say(first.page, 'count');
    model.allow(1);
    await first.page.locator('.live').getByText('one').waitFor();
    const [, hash = ''] = first.page.url().split('#');
    await using second = await openPage(`${at.url}/#token=${TOKEN}`);
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

  test('Chinese words are found, and the hit opens at its message', async () => {
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
    await using opened = await openPage(`${at.url}/#token=${TOKEN}`, { locale: 'zh-CN' });
    const { page } = opened;
    await page.locator('.session').waitFor();
    await page.getByRole('button', { name: '搜索' }).click();
    await page.locator('.search-field').fill('番茄');
    await page.locator('.hits mark').getByText('番茄').waitFor();
    const flashed = await rememberFlashes(page);
    await page.keyboard.press('Enter');
    await expect.poll(flashed).toContain('我们星期五去看番茄和豆子');
  });

  test('a session that is deleted elsewhere shows that, accepts no message, and keeps the draft', async () => {
    await using at = await openServer(scripted(['hello', 'again']));
    await using opened = await openPage(`${at.url}/#token=${TOKEN}`);
    const { page } = opened;
    await say(page, 'hi');
    await answers(page).getByText('hello').waitFor();
    const sessionId = page.url().split('/').at(-1) ?? '';
    await page.locator('.session').waitFor();
    const path = `/api/agents/main/sessions/${sessionId}`;
    const field = page.getByLabel('Message', { exact: true });
    await field.fill('is anybody there?');
    expect((await at.request(path, { method: 'DELETE' })).status).toBe(200);
    await page.getByText('in the trash').first().waitFor();
    expect(await field.isDisabled()).toBe(true);
    expect(await field.inputValue()).toBe('is anybody there?');
    expect((await at.reprise.store.get(sessionId)).messageCount).toBe(2);
    await page.locator('.banner').getByRole('button', { name: 'Restore' }).click();
    await expect.poll(() => field.isEnabled()).toBe(true);
    await field.press('Enter');
    await answers(page).getByText('again').waitFor();
  });

  test('a message over the limit is refused in its place with its words kept, and can be written again', async () => {
    await using at = await openServer(scripted(['one', 'two']), {}, { limits: { messageBytes: 10_000 } });
    await using opened = await openPage(`${at.url}/#token=${TOKEN}`);
    const { page } = opened;
    const long = 'word '.repeat(4000);
    await say(page, long);
    const refused = page.locator('.message.failed');
    await refused.getByRole('button', { name: 'Retry' }).waitFor();
    expect(await refused.textContent()).toMatch(/10,?000|limit|large/i);
    expect(await refused.locator('.said').textContent()).toBe(long);
    expect((await at.reprise.sessions({ limit: 10 })).sessions).toHaveLength(0);
    await page.getByLabel('Message', { exact: true }).fill('and this');
    await refused.getByRole('button', { name: 'Edit' }).click();
    const field = page.getByLabel('Message', { exact: true });
    await expect.poll(() => field.inputValue()).toBe(`${long}\n\nand this`);
    expect(await refused.count()).toBe(0);
    // Once: it comes back with no other view and no other Edit.
    await say(page, 'in short');
    await answers(page).getByText('one').waitFor();
    await page.getByRole('link', { name: 'Statistics' }).click();
    await field.waitFor({ state: 'detached' });
    await page.goBack();
    await answers(page).getByText('one').waitFor();
    expect(await field.inputValue()).toBe('');
    await field.press('ArrowUp');
    await page.getByText('Editing. The current version stays').waitFor();
    await expect.poll(() => field.inputValue()).toBe('in short');
    await say(page, 'in brief');
    await answers(page).getByText('two').waitFor();
    await expect.poll(() => page.locator('.said').allTextContents()).toEqual(['in brief']);
  });

  test('the page works with a server that lacks a newer route', async () => {
    await using at = await openServer(scripted(['hello']));
    await using opened = await openPage('about:blank');
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
