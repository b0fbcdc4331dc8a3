import type { Locator, Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import type { Tool } from '../../src/engine/tools/tool.ts';
import { RepriseError } from '../../src/errors.ts';
import type { Model } from '../../src/models/model.ts';
import { scripted } from '../support/engine/engine.ts';
import { pacedModel } from '../support/engine/paced-model.ts';
import { gate, openServer, TOKEN } from '../support/server/server.ts';
import { openPage } from './support/browser.ts';

const field = (page: Page): Locator => page.getByLabel('Message', { exact: true });

async function say(page: Page, text: string): Promise<void> {
  await field(page).fill(text);
  await page.keyboard.press('Enter');
}

/** Stops the answer, and comes back when the server knows: a word before that would still belong to it. */
async function stop(page: Page): Promise<void> {
  const heard = page.waitForResponse('**/chat/stop');
  await page.getByRole('button', { name: 'Stop' }).click();
  await heard;
}

describe('a chat in the browser', () => {
  test('a message is sent, its answer streams, and both are there after a reload', async () => {
    const model = pacedModel(['Hello ', '**there**', ', friend.']);
    await using at = await openServer(model);
    await using opened = await openPage(`${at.url}/#token=${TOKEN}`);
    const { page, complaints } = opened;
    expect(page.url()).not.toContain(TOKEN);
    await say(page, 'hi');
    model.allow(2);
    const answer = page.locator('.answer');
    await answer.getByText('there').waitFor();
    expect(await answer.locator('strong').textContent()).toBe('there');
    expect(await answer.textContent()).not.toContain('friend');
    model.allow(10);
    await page.locator('.answer:not(.live)').waitFor();
    await page.reload();
    await page.locator('.answer strong').waitFor();
    expect(await page.locator('.message.user .said').textContent()).toBe('hi');
    expect(await page.locator('.message').count()).toBe(2);
    // The list comes by another request than the messages.
    await expect.poll(() => page.locator('.session').count()).toBe(1);
    expect(complaints).toEqual([]);
  });

  test('stop keeps what arrived; Shift+Enter is a new line, and the draft of each session stays', async () => {
    const model = pacedModel(Array.from({ length: 50 }, (_, i) => `word${i} `));
    await using at = await openServer(model);
    await using opened = await openPage(`${at.url}/#token=${TOKEN}`);
    const { page } = opened;
    await field(page).fill('two');
    await page.keyboard.press('Shift+Enter');
    await page.keyboard.type('lines');
    await page.keyboard.press('Enter');
    model.allow(3);
    await page.locator('.live').getByText('word2').waitFor();
    await stop(page);
    // Stopped between words: the model hears of it with its next one.
    model.allow(1);
    await page.locator('.answer:not(.live)').getByText('word2').waitFor();
    await page.getByText('The partial answer is saved').waitFor();
    expect(await page.locator('.said').textContent()).toBe('two\nlines');
    await field(page).fill('half a thought');
    await page.getByRole('link', { name: 'New chat', exact: true }).click();
    await expect.poll(() => field(page).inputValue()).toBe('');
    await page.goBack();
    await expect.poll(() => field(page).inputValue()).toBe('half a thought');
  });

  test('queued messages are counted and can be cancelled while the answer continues', async () => {
    const { opened: opens, open } = gate();
    await using at = await openServer(scripted([{ wait: opens, text: 'first answer' }, 'never asked for']), {
      session: { queue: { mode: 'followup' } },
    });
    await using opened = await openPage(`${at.url}/#token=${TOKEN}`);
    const { page } = opened;
    await say(page, 'one');
    await page.locator('.live').waitFor();
    await say(page, 'two');
    await say(page, 'three');
    await page.getByText('2 queued').waitFor();
    await page.getByRole('button', { name: 'Cancel queued messages' }).click();
    await page.getByText('2 queued').waitFor({ state: 'detached' });
    open();
    await page.locator('.answer:not(.live)').getByText('first answer').waitFor();
    await expect.poll(() => page.locator('.message.user').count()).toBe(1);
  });

  test('the message after a stopped answer is shown once, also while its own answer arrives', async () => {
    const model = pacedModel(['one ', 'two ', 'three ']);
    await using at = await openServer(model, { session: { queue: { mode: 'followup' } } });
    await using opened = await openPage(`${at.url}/#token=${TOKEN}`);
    const { page } = opened;
    await say(page, 'first');
    model.allow(1);
    await page.locator('.live').getByText('one').waitFor();
    await say(page, 'second');
    await page.getByText('1 queued').waitFor();
    await stop(page);
    // The one that ends the first answer, and the first word of the second.
    model.allow(2);
    await page.getByText('The partial answer is saved').waitFor();
    await page.locator('.live').getByText('one').waitFor();
    expect(await page.locator('.said').allTextContents()).toEqual(['first', 'second']);
    model.allow(10);
    await page.locator('.answer:not(.live)').getByText('one two three').waitFor();
    await expect.poll(() => page.locator('.live').count()).toBe(0);
    expect(await page.locator('.said').allTextContents()).toEqual(['first', 'second']);
  });

  test('a call and its result are one row; thinking is folded; facts of each answer are shown', async () => {
    const tool: Tool = {
      name: 'look_up',
      description: 'Looks.',
      inputSchema: { type: 'object', properties: { word: { type: 'string' } } },
      safe: true,
      run: async ({ word }) => `found ${String(word)}`,
    };
    const usage = {
      input: 1200,
      output: 340,
      cacheRead: 0,
      cacheWrite: 0,
      totalTokens: 1540,
      cost: { total: 0.5 },
    };
    const calls = [{ name: 'look_up', input: { word: 'tea' } }];
    const model = scripted([
      { thinking: { text: 'hm, tea' }, text: 'Let me see.', calls, usage },
      { text: 'It is tea.', usage },
    ]);
    await using at = await openServer(model, { tools: [tool] });
    await using opened = await openPage(`${at.url}/#token=${TOKEN}`);
    const { page } = opened;
    await say(page, 'what is it?');
    await page.locator('.answer:not(.live)').getByText('It is tea.').waitFor();
    const row = page.locator('details.tool');
    expect(await row.count()).toBe(1);
    expect(await row.locator('summary').textContent()).toMatch(/look_uptea.*ok/);
    expect(await page.getByText('found tea').isVisible()).toBe(false);
    await row.locator('summary').click();
    expect(await page.getByText('found tea').isVisible()).toBe(true);
    expect(await page.getByText('hm, tea').isVisible()).toBe(false);
    expect(await page.locator('.facts').first().textContent()).toBe('1.2k tokens in · 340 out · $0.50');
  });

  test('a message that joins a running turn is shown in its place, and the answer once', async () => {
    const { opened: opens, open } = gate();
    const tool: Tool = {
      name: 'slow',
      description: 'Waits.',
      inputSchema: { type: 'object', properties: {} },
      safe: true,
      run: () => opens.then(() => 'done'),
    };
    await using at = await openServer(
      scripted([{ text: 'before', calls: [{ name: 'slow' }] }, 'after both']),
      {
        tools: [tool],
      },
    );
    await using opened = await openPage(`${at.url}/#token=${TOKEN}`);
    const { page } = opened;
    await say(page, 'first');
    await page.locator('.live .tool').waitFor();
    await say(page, 'second');
    // On its way it is shown too; what the server has not taken joins nothing.
    await page.locator('.message.user:not(.sending) .said').getByText('second').waitFor();
    open();
    await page.locator('.answer:not(.live)').getByText('after both').waitFor();
    await expect.poll(() => page.locator('.live').count()).toBe(0);
    expect(await page.locator('.answer .markdown').allTextContents()).toEqual(['before', 'after both']);
    await expect.poll(() => page.locator('.said').allTextContents()).toEqual(['first', 'second']);
  });

  test('an image is sent with a message and shown again, also one that is stored as a blob', async () => {
    await using at = await openServer(scripted(['small', 'large']));
    await using opened = await openPage(`${at.url}/#token=${TOKEN}`);
    const { page, complaints } = opened;
    const shown = (): Promise<number> =>
      page.evaluate(
        () =>
          [...document.querySelectorAll<HTMLImageElement>('.pictures img')].filter(
            ({ naturalWidth }) => naturalWidth > 0,
          ).length,
      );
    for (const [i, side] of [8, 260].entries()) {
      const png = await page.evaluate(async (size) => {
        const canvas = new OffscreenCanvas(size, size);
        const pen = canvas.getContext('2d');
        // Noise, so that it cannot be packed small.
        for (let x = 0; x < size; x++)
          for (let y = 0; y < size; y++) {
            if (pen !== null)
              pen.fillStyle = `#${((x * 7919 + y * 104729 + x * y * 31) & 0xffffff).toString(16).padStart(6, '0')}`;
            pen?.fillRect(x, y, 1, 1);
          }
        return [...new Uint8Array(await (await canvas.convertToBlob()).arrayBuffer())];
      }, side);
      await page
        .getByLabel('Add images or text files')
        .setInputFiles({ name: 'a.png', mimeType: 'image/png', buffer: Buffer.from(png) });
      await page.locator('.attachments img').waitFor();
      await say(page, `look ${i}`);
      await page
        .locator('.answer:not(.live)')
        .getByText(i === 0 ? 'small' : 'large')
        .waitFor();
      await expect.poll(shown).toBe(i + 1);
    }
    await page.reload();
    await expect.poll(shown).toBe(2);
    const { entries } = await at.reprise.store.read(page.url().split('/').at(-1) ?? '');
    expect(JSON.stringify(entries)).toContain('"blob":"sha256:');
    expect(complaints).toEqual([]);
  });

  test('a reader further up stays there while the answer grows, and returns with one click', async () => {
    const model = pacedModel(Array.from({ length: 400 }, (_, i) => `line ${i}\n\n`));
    await using at = await openServer(model);
    await using opened = await openPage(`${at.url}/#token=${TOKEN}`);
    const { page } = opened;
    const box = page.locator('.messages');
    const place = (): Promise<{ top: number; rest: number }> =>
      box.evaluate(({ scrollTop, scrollHeight, clientHeight }) => ({
        top: scrollTop,
        rest: scrollHeight - scrollTop - clientHeight,
      }));
    await say(page, 'count');
    model.allow(100);
    await page.getByText('line 99', { exact: true }).waitFor();
    await expect.poll(async () => (await place()).rest).toBeLessThan(2);
    await box.hover();
    await page.mouse.wheel(0, -600);
    await page.getByRole('button', { name: 'Jump to latest' }).waitFor();
    await expect.poll(async () => (await place()).rest).toBeGreaterThan(500);
    const { top } = await place();
    model.allow(100);
    await page.getByText('line 199', { exact: true }).waitFor({ state: 'attached' });
    expect(Math.abs((await place()).top - top)).toBeLessThan(2);
    await page.getByRole('button', { name: 'Jump to latest' }).click();
    await expect.poll(async () => (await place()).rest).toBeLessThan(2);
    model.allow(200);
    await page.locator('.answer:not(.live)').getByText('line 399', { exact: true }).waitFor();
    await expect.poll(async () => (await place()).rest).toBeLessThan(2);
  });

  test('a very long message is cut until it is expanded, and printed in full', async () => {
    await using at = await openServer(scripted(['noted']));
    const log = Array.from({ length: 300 }, (_, i) => `line ${i} of a log`).join('\n');
    await (await at.chat({ message: log, sessionId: 's' })).text();
    await using opened = await openPage(`${at.url}/#token=${TOKEN}`);
    const { page } = opened;
    await page.goto(`${at.url}/#/s/main/s`);
    const said = page.locator('.said');
    const isWhole = (): Promise<boolean> =>
      said.evaluate(({ scrollHeight, clientHeight }) => scrollHeight <= clientHeight + 1);
    expect(await said.textContent()).toBe(log);
    expect(await isWhole()).toBe(false);
    await page.emulateMedia({ media: 'print' });
    expect(await isWhole()).toBe(true);
    await page.emulateMedia({ media: 'screen' });
    await page.getByRole('button', { name: 'Show all' }).click();
    expect(await isWhole()).toBe(true);
  });

  test('Escape closes an open dialog or menu, and stops the answer only if none is open', async () => {
    const model = pacedModel(['one ', 'two']);
    await using at = await openServer(model);
    using _rest = { [Symbol.dispose]: () => model.allow(100) };
    await using opened = await openPage(`${at.url}/#token=${TOKEN}`);
    const { page } = opened;
    await say(page, 'count');
    model.allow(1);
    await page.locator('.live').getByText('one').waitFor();
    const stops: string[] = [];
    page.on('request', (request) => {
      if (/\/stop\b/.test(request.url())) stops.push(request.url());
    });
    const closes = async (open: Locator): Promise<void> => {
      await open.waitFor();
      await page.keyboard.press('Escape');
      await open.waitFor({ state: 'hidden' });
    };
    await page.getByRole('button', { name: 'More', exact: true }).click();
    await closes(page.getByRole('menuitem', { name: 'Keyboard shortcuts' }));
    await page.getByRole('button', { name: 'Search all sessions' }).click();
    await closes(page.getByRole('dialog'));
    await page.locator('.facets > summary').click();
    await closes(page.locator('.facets[open]'));
    await field(page).fill('/');
    await closes(page.getByRole('listbox', { name: '/' }));
    await field(page).fill('');
    await page.getByLabel('Filter sessions').fill('x');
    await page.keyboard.press('Escape');
    await expect.poll(() => page.getByLabel('Filter sessions').inputValue()).toBe('');
    expect(stops).toEqual([]);
    expect(await page.locator('.live').count()).toBe(1);
    await page.keyboard.press('Escape');
    await expect.poll(() => stops.length).toBe(1);
    await page.getByText('Stopped. The partial answer is saved.').waitFor();
  });

  test('a request that is retried shows one line, then one error with a way to try again, under the same model name', async () => {
    const [first, second] = [gate(), gate()];
    const model: Model = {
      ...scripted([]),
      id: 'large:8b',
      provider: 'vendor',
      async *stream() {
        yield { type: 'retry', attempt: 1, delayMs: 0, code: 'MODEL_FAILED', reason: 'busy once' };
        yield { type: 'retry', attempt: 2, delayMs: 0, code: 'MODEL_FAILED', reason: 'busy twice' };
        await first.opened;
        yield { type: 'text_delta', block: 0, text: 'half' };
        await second.opened;
        throw new RepriseError('MODEL_FAILED', 'the provider is down');
      },
    } as never;
    await using at = await openServer(model);
    using _rest = { [Symbol.dispose]: () => [first.open(), second.open()] };
    await using opened = await openPage(`${at.url}/#token=${TOKEN}`);
    const { page } = opened;
    await say(page, 'hello');
    const live = page.locator('.live');
    await live.getByText('Retrying in 0 s (attempt 3)… busy twice').waitFor();
    expect(await live.locator('.note').count()).toBe(1);
    const name = await live.locator('header b').textContent();
    first.open();
    await live.getByText('half').waitFor();
    expect(await live.locator('.note').count()).toBe(0);
    second.open();
    await page.locator('.mark').getByRole('button', { name: 'Retry' }).waitFor();
    expect(await page.getByText('the provider is down').count()).toBe(1);
    expect(await page.locator('.answer:not(.live) header b').textContent()).toBe(name);
  });

  test('a text file that is dropped becomes text in the field, and a file that cannot be added is named', async () => {
    await using at = await openServer(scripted([]));
    await using opened = await openPage(`${at.url}/#token=${TOKEN}`);
    const { page } = opened;
    await field(page).fill('Look at this:');
    const files = await page.evaluateHandle(() => {
      const drop = new DataTransfer();
      drop.items.add(new File(['a = 1\n```\n'], 'notes.py', { type: '' }));
      drop.items.add(new File([new Uint8Array([0, 255, 1])], 'photo.raw'));
      drop.items.add(new File(['x'.repeat(100_001)], 'long.log', { type: 'text/plain' }));
      return drop;
    });
    await page.locator('form.composer').dispatchEvent('drop', { dataTransfer: files });
    await page
      .locator('.toast.error')
      .getByText('long.log was not added: a text file may have up to 100 KB.')
      .waitFor();
    expect(await field(page).inputValue()).toBe('Look at this:\n\nnotes.py\n````\na = 1\n```\n````');
  });

  test('an edited message is in view with its answer, and every message has its position', async () => {
    const long = 'word '.repeat(400);
    const model = scripted([...Array<string>(6).fill(long), `${long} the end`]);
    await using at = await openServer(model);
    for (let i = 1; i <= 6; i++) await (await at.chat({ message: `question ${i}`, sessionId: 's' })).text();
    await using opened = await openPage(`${at.url}/#token=${TOKEN}`);
    const { page } = opened;
    await page.goto(`${at.url}/#/s/main/s`);
    await page.locator('.message', { hasText: 'question 6' }).waitFor();
    await page.locator('.messages').press('Home');
    const third = page.locator('.message', { hasText: 'question 2' });
    await third.scrollIntoViewIfNeeded();
    expect(await third.locator('.position').textContent()).toBe('#3');
    await third.getByRole('button', { name: 'Message actions' }).click();
    await page.getByRole('menuitem', { name: 'Edit' }).click();
    await expect.poll(() => field(page).inputValue()).toBe('question 2');
    await page.locator('.messages').press('Home');
    await field(page).fill('another question');
    await field(page).press('Enter');
    const end = page.locator('.answer:not(.live)').getByText('the end');
    await end.waitFor();
    await expect
      .poll(() =>
        page.locator('.messages').evaluate((box) => box.scrollHeight - box.scrollTop - box.clientHeight),
      )
      .toBeLessThan(5);
    expect(
      await page.locator('.answer:not(.live)', { hasText: 'the end' }).locator('.position').textContent(),
    ).toBe('#4');
  });

  test('a slash offers the commands; they are run, not sent as messages, and their answer is shown', async () => {
    const model = scripted(['hello']);
    await using at = await openServer(model);
    await using opened = await openPage(`${at.url}/#token=${TOKEN}`);
    const { page } = opened;
    await say(page, 'hi');
    await page.locator('.answer:not(.live)').waitFor();
    await field(page).fill('/');
    await page.getByRole('option', { name: '/rename' }).waitFor();
    await page.keyboard.type('rena');
    await page.keyboard.press('Enter');
    expect(await field(page).inputValue()).toBe('/rename ');
    await page.keyboard.type('My plans');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'My plans' }).waitFor();
    await say(page, '/history 5');
    await page.getByRole('dialog').getByText('hello').waitFor();
    expect(model.requests).toHaveLength(1);
  });
});
