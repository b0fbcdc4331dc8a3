// @module-tag long
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openStore } from '../../src/config/open.ts';
import { scripted } from '../support/engine/engine.ts';
import { gate, type OpenedServer, openServer, TOKEN } from '../support/server/server.ts';
import { openPage } from './support/browser.ts';
import { rememberFlashes } from './support/flashes.ts';

const answers = (page: Page): Locator => page.locator('.answer:not(.live) .markdown');

async function talk(at: OpenedServer, texts: readonly string[], sessionId = 's'): Promise<void> {
  for (const message of texts) await (await at.chat({ message, sessionId })).text();
}

async function choose(page: Page, where: Locator, name: string): Promise<void> {
  await where.hover();
  await where.getByRole('button', { name: /actions$/ }).click();
  await page.getByRole('menuitem', { name }).click();
}

const head = (page: Page): Locator => page.locator('.chat-head');

describe('everything can be seen and undone', () => {
  test('a summary is previewed, opens to its text, its losses and the originals, and is undone', async () => {
    const long = 'Long words about many things. '.repeat(80);
    const model = scripted(
      [...Array.from({ length: 16 }, (_, i) => `answer ${i} ${long}`), 'A SUMMARY of it'],
      20_000,
    );
    await using at = await openServer(model);
    await talk(
      at,
      Array.from({ length: 16 }, (_, i) => `question ${i} about src/file-${i}.ts`),
    );
    await using opened = await openPage(`${at.url}/#token=${TOKEN}`);
    const { page, complaints } = opened;
    await page.goto(`${at.url}/#/s/main/s`);
    await answers(page).getByText('answer 15').waitFor();
    await choose(page, head(page), 'Compact');
    await page.getByText(/to summarize: \d+ \(.* tokens\)/).waitFor();
    await page.getByRole('button', { name: 'Compact now' }).click();
    await page.getByText(/^Compacted: /).waitFor();
    await page.locator('.messages').press('Home');
    const rule = page.locator('.fold');
    await rule.getByText(/^\d+ messages → summary$/).waitFor();
    expect(await rule.locator('.what').textContent()).toMatch(/summary[\d.]+k → [\d.]+k? tokens$/);
    expect(await page.locator('.messages').getByText('question 0 about').count()).toBe(0);
    await rule.getByRole('button', { name: 'Summary' }).click();
    await rule.getByText('A SUMMARY of it').waitFor();
    await rule.getByRole('button', { name: 'Details kept' }).click();
    // What the model left out stands behind what it wrote.
    const kept = (await rule.getByText('open questions in the summary').textContent()) ?? '';
    const [found, total] = (kept.match(/\d+/g) ?? []).map(Number);
    expect(found).toBeGreaterThanOrEqual(16);
    expect(await rule.getByText(/^Only in the original messages: /).count()).toBe(found === total ? 0 : 1);
    await rule.getByRole('button', { name: 'Original messages' }).click();
    await page.locator('.said').getByText('question 0 about').waitFor();
    await rule.getByRole('button', { name: 'Undo' }).click();
    await page.locator('.fold').waitFor({ state: 'detached' });
    await page.locator('.said').getByText('question 0 about').waitFor();
    expect(complaints).toEqual([]);
  });

  test('a summary of another tool shows how much it replaced, as far as that is known', async () => {
    await using at = await openServer(scripted([]));
    const { store } = at.reprise;
    await store.create({ id: 's', key: 'agent:main:session:s' });
    const said = Array.from({ length: 150 }, (_, i) => ({
      type: 'message',
      message: { role: 'user', content: `question ${i + 1}` },
    }));
    await store.append('s', said as never);
    const { entries } = await store.read('s', { from: 2, limit: 150 });
    const firstKeptEntryId = entries[140]?.entry.id;
    const summary = { type: 'compaction', summary: 'of a stranger', firstKeptEntryId, tokensBefore: 80_000 };
    await store.append('s', [summary] as never);
    await using opened = await openPage(`${at.url}/#token=${TOKEN}`);
    const { page } = opened;
    await page.goto(`${at.url}/#/s/main/s`);
    const line = page.locator('.fold .what');
    // Of the newest hundred entries ten are kept and one is the summary.
    await expect.poll(() => line.textContent()).toBe('89+ messages → summary80k tokens');
    await page.locator('.fold').getByRole('button', { name: 'Original messages' }).click();
    await page.locator('.messages').press('Home');
    await expect.poll(() => line.textContent()).toBe('140 messages → summary80k tokens');
  });

  test('a failed turn shows the reason once, and is retried there', async () => {
    await using at = await openServer(scripted([new Error('it broke'), 'this time']));
    await talk(at, ['try it']);
    await using opened = await openPage(`${at.url}/#token=${TOKEN}`);
    const { page } = opened;
    await page.goto(`${at.url}/#/s/main/s`);
    const line = page.locator('.mark');
    await line.getByText('The turn failed. Unexpected error: it broke.', { exact: true }).waitFor();
    await line.getByRole('button', { name: 'Retry' }).click();
    await answers(page).getByText('this time').waitFor();
    await expect.poll(() => page.locator('.said').allTextContents()).toEqual(['try it']);
  });

  test('a failed turn is retried at the end of its session, and nowhere else', async () => {
    const home = await mkdtemp(join(tmpdir(), 'reprise-again-'));
    onTestFinished(() => rm(home, { recursive: true }));
    const failed = {
      type: 'custom',
      customType: 'reprise.turn',
      data: { turnId: 't', status: 'error', error: { code: 'MODEL_FAILED', message: 'it broke' } },
    };
    const said = (content: string): object => ({ type: 'message', message: { role: 'user', content } });
    const place = { kind: 'jsonl', home } as const;
    {
      await using store = await openStore(place);
      for (const id of ['long', 'bad']) await store.create({ id, key: `agent:main:session:${id}` });
      const middle = Array.from({ length: 150 }, () => failed);
      await store.append('long', [said('begin'), ...middle, said('go on'), failed] as never);
      for (const entry of [said('unreadable'), said('readable'), failed])
        await store.append('bad', [entry] as never);
    }
    const file = join(home, 'agents', 'main', 'sessions', 'bad.jsonl');
    await writeFile(file, (await readFile(file, 'utf8')).replace('unreadable', 'unreadabel'));

    await using at = await openServer(scripted([]), { store: await openStore(place) });
    await using opened = await openPage(`${at.url}/#token=${TOKEN}`);
    const { page } = opened;
    const again = page.locator('.mark').getByRole('button', { name: 'Retry' });
    const told = page.locator('.mark').getByText('The turn failed. It broke.');
    // All that is loaded ends with a turn that failed; the session does not.
    await page.goto(`${at.url}/#/s/main/long/2`);
    await told.first().waitFor();
    expect(await again.count()).toBe(0);
    await page.getByRole('button', { name: 'Jump to latest' }).click();
    await again.waitFor();
    await at.request('/api/agents/main/sessions/long', { method: 'DELETE' });
    await page.getByText('This session is in the trash').waitFor();
    expect(await again.count()).toBe(0);
    await page.goto(`${at.url}/#/s/main/bad`);
    await page.getByText('This session is damaged').waitFor();
    await told.waitFor();
    expect(await again.count()).toBe(0);
    // The readable part continues in a new session.
    await page.getByRole('button', { name: 'Continue with the readable part' }).click();
    await page.waitForURL((url) => !url.hash.includes('/bad'));
    await page.locator('.message.user').getByText('readable', { exact: true }).waitFor();
    await page.getByText('This session is damaged').waitFor({ state: 'detached' });
    await page.getByLabel('Message', { exact: true }).fill('hello');
  });

  test('a regenerated answer keeps the old one as a branch, and the tree leads back to it', async () => {
    await using at = await openServer(scripted(['first answer', 'second answer']));
    await talk(at, ['tell me']);
    await using opened = await openPage(`${at.url}/#token=${TOKEN}`);
    const { page } = opened;
    await page.goto(`${at.url}/#/s/main/s`);
    await answers(page).getByText('first answer').waitFor();
    await choose(page, page.locator('.answer').last(), 'Regenerate');
    await expect.poll(() => answers(page).allTextContents()).toEqual(['second answer']);
    await choose(page, head(page), 'Tree');
    const lines = page.locator('.branches button');
    await expect.poll(() => lines.count()).toBe(2);
    await lines.first().click();
    await expect.poll(() => answers(page).allTextContents()).toEqual(['first answer']);
    await page.locator('.toast').getByRole('button', { name: 'Undo' }).click();
    await expect.poll(() => answers(page).allTextContents()).toEqual(['second answer']);
    await choose(page, page.locator('.answer').last(), 'What the model received');
    await page.getByRole('dialog').getByText('verified: this is exactly the request that was sent').waitFor();
  });

  test('a session is renamed, forked, pinned, deleted and restored', async () => {
    await using at = await openServer(scripted(['an answer', 'another']));
    await talk(at, ['keep this', 'and this']);
    await using opened = await openPage(`${at.url}/#token=${TOKEN}`);
    const { page } = opened;
    await page.goto(`${at.url}/#/s/main/s`);
    await answers(page).getByText('another').waitFor();
    await choose(page, page.locator('.message.user').first(), 'Pin');
    await page.locator('.message.user').first().getByText('pinned').waitFor();
    await choose(page, head(page), 'Rename');
    await page.getByLabel('Name', { exact: true }).fill('The plan');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'The plan' }).waitFor();
    await choose(page, page.locator('.answer').first(), 'Fork from here');
    await page.getByText('Continued from another session').waitFor();
    await expect.poll(() => answers(page).allTextContents()).toEqual(['an answer']);
    await page.goBack();
    await answers(page).getByText('another').waitFor();
    await choose(page, head(page), 'Move to trash');
    await page.locator('.banner').getByText('in the trash').waitFor();
    expect(await page.getByLabel('Message', { exact: true }).isDisabled()).toBe(true);
    await page.locator('.toast').getByRole('button', { name: 'Undo' }).click();
    await page.locator('.banner').getByText('in the trash').waitFor({ state: 'detached' });
    await page.locator('.session').getByText('The plan').first().waitFor();
  });
});

/** 10,000 by `npm run test:long -- sizes`: what is drawn and asked for does not depend on it. */
const MANY = process.env['REPRISE_FULL_SIZE'] === undefined ? 2000 : 10_000;

describe('with very much data', () => {
  test('thousands of messages scroll with few of them drawn; a hit of the search opens at its message', async () => {
    await using at = await openServer(scripted([]));
    const { store } = at.reprise;
    const { id } = await store.create({ id: 'big', key: 'agent:main:session:big' });
    const entry = (i: number): object => ({
      type: 'message',
      message: {
        role: i % 2 === 0 ? 'user' : 'assistant',
        content: [{ type: 'text', text: `entry ${i} ${i === MANY / 2 - 79 ? 'needle' : 'hay'}` }],
      },
    });
    for (let from = 0; from < MANY; from += 1000)
      await store.append(id, Array.from({ length: 1000 }, (_, i) => entry(from + i)) as never);
    await using opened = await openPage(`${at.url}/#token=${TOKEN}`);
    const { page, complaints } = opened;
    await page.goto(`${at.url}/#/s/main/big`);
    await page.getByText(`entry ${MANY - 1} hay`).waitFor();
    expect(await page.locator('.row .message').count()).toBeLessThan(80);
    // On paper is all that is loaded, and that this is not all there is.
    const printed = await page.evaluate(() => {
      const rows = (): number => document.querySelectorAll('.messages .message').length;
      dispatchEvent(new Event('beforeprint'));
      const onPaper = rows();
      dispatchEvent(new Event('afterprint'));
      return { onPaper, after: rows() };
    });
    expect(printed.onPaper).toBe(100);
    expect(printed.after).toBeLessThan(80);
    expect(await page.locator('.only-print').textContent()).toContain('reprise export');
    const box = page.locator('.messages');
    // A focused button of a message keeps the focus when older messages are loaded above.
    const { opened: comes, open } = gate();
    await page.route(/[?&]before=/, async (asked) => {
      await comes;
      await asked.continue();
    });
    await box.press('Home');
    const first = page.locator('.row', { hasText: `entry ${MANY - 100} hay` });
    await first.getByRole('button', { name: 'Message actions' }).focus();
    open();
    await expect.poll(() => box.evaluate(({ scrollTop }) => scrollTop)).toBeGreaterThan(1000);
    const isHere = (row: Element): boolean => row.contains(document.activeElement);
    expect(await first.evaluate(isHere)).toBe(true);
    await page.unroute(/[?&]before=/);
    // Older pages come as they are scrolled to, and what is read stays where it is.
    for (let i = 0; i < 4; i++) {
      const before = await page.locator('.said').first().textContent();
      await box.press('Home');
      await expect.poll(() => page.locator('.said').first().textContent()).not.toBe(before);
    }
    await page.getByRole('button', { name: 'Jump to latest' }).click();
    await page.getByText(`entry ${MANY - 1} hay`).waitFor();
    await page.keyboard.press('Control+k');
    await page.getByPlaceholder('Go to a session, run a command, or search').fill('needle');
    await page.locator('.hits mark').waitFor();
    const flashed = await rememberFlashes(page);
    await page.keyboard.press('Enter');
    await expect.poll(flashed).toContain(`entry ${MANY / 2 - 79} needle`);
    expect(page.url()).toContain('/big/');
    expect(await page.locator('.row .message').count()).toBeLessThan(80);
    await page.getByRole('button', { name: 'Jump to latest' }).click();
    await page.getByText(`entry ${MANY - 1} hay`).waitFor();
    expect(complaints).toEqual([]);
  });

  test('thousands of sessions are listed in pages with few of them drawn, and filtered as it is typed', async () => {
    const store = await openStore({ kind: 'memory' });
    const all = Array.from({ length: MANY }, (_, i) => i);
    await Promise.all(all.map((i) => store.create({ id: `n${i}`, key: `agent:main:web:direct:n${i}` })));
    await Promise.all(
      all.map((i) =>
        store.append(`n${i}`, [{ type: 'message', message: { role: 'user', content: `plan ${i}` } }]),
      ),
    );
    await using at = await openServer(scripted([]), { store });
    await using opened = await openPage(`${at.url}/#token=${TOKEN}`);
    const { page } = opened;
    await page.locator('.session').first().waitFor();
    const list = page.locator('.sessions');
    const height = (): Promise<number> => list.evaluate((element) => element.scrollHeight);
    // After each drawing, also invisible ones.
    const drawn = await page.evaluateHandle(() => {
      const counts: number[] = [];
      const look = (): unknown => counts.push(document.querySelectorAll('.session').length);
      new MutationObserver(look).observe(document.body, { childList: true, subtree: true });
      return counts;
    });
    for (let i = 0; i < 12; i++) {
      const before = await height();
      await list.press('End');
      await expect.poll(height).toBeGreaterThan(before);
    }
    const counts = await drawn.jsonValue();
    expect(counts.length).toBeGreaterThan(12);
    expect(Math.max(...counts)).toBeLessThan(60);
    await page.getByLabel('Filter sessions').fill('plan 77');
    const names = (): Promise<string[]> => page.locator('.session .name').allTextContents();
    await expect
      .poll(async () => {
        const shown = await names();
        return shown.length > 0 && shown.every((name) => name.includes('plan 77'));
      })
      .toBe(true);
  });
});
