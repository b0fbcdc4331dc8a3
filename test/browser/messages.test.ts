// @module-tag long
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { scripted } from '../support/engine/engine.ts';
import { openServer, TOKEN } from '../support/server/server.ts';
import { openPage } from './support/browser.ts';

/** Every field of an answer that holds English for a person; content and labels of people stay. */
function withoutEnglish(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutEnglish);
  if (typeof value !== 'object' || value === null) return value;
  const { code, messages, why, cacheBreak } = value as Readonly<Record<string, unknown>>;
  const isCoded = typeof code === 'string' || messages !== undefined || why !== undefined;
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => {
      const isText = typeof part === 'string';
      const isEnglish =
        (isCoded && ['text', 'message', 'error', 'detail', 'title', 'reason'].includes(name)) ||
        ['next', 'help'].includes(name) ||
        (name === 'cacheBreak' && cacheBreak !== undefined);
      // Parameters of a message are data.
      return [name, isText && isEnglish ? 'x' : name === 'params' ? part : withoutEnglish(part)];
    }),
  );
}

const DATA = /^data: (.*)$/gm;
const blank = (json: string): string => JSON.stringify(withoutEnglish(JSON.parse(json)));

/** Stands before a server and takes the English out of its answers. */
async function withoutEnglishOf(url: string): Promise<{ readonly url: string } & AsyncDisposable> {
  const proxy = createServer((incoming, outgoing) => {
    const { 'accept-encoding': _, ...headers } = incoming.headers;
    const asked = request(new URL(incoming.url ?? '', url), { method: incoming.method ?? 'GET', headers });
    asked.on('error', () => outgoing.destroy());
    asked.on('response', async (answer) => {
      const { 'content-length': __, ...kept } = answer.headers;
      outgoing.writeHead(answer.statusCode ?? 502, kept);
      const type = String(kept['content-type']);
      answer.setEncoding('utf8');
      let text = '';
      for await (const piece of answer) {
        text += piece;
        const end = type.includes('event-stream') ? text.lastIndexOf('\n') + 1 : 0;
        outgoing.write(text.slice(0, end).replace(DATA, (_line, json: string) => `data: ${blank(json)}`));
        text = text.slice(end);
      }
      outgoing.end(type.includes('json') ? blank(text) : text);
    });
    incoming.pipe(asked);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const { port } = proxy.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      proxy.closeAllConnections();
      proxy.close();
    },
  };
}

/** What the page shows after a line was sent: a dialog or a toast. */
async function shown(page: Page, label: string, line: string): Promise<string> {
  await page.getByRole('textbox', { name: label, exact: true }).fill(line);
  await page.keyboard.press('Enter');
  const answer = page.locator('.command-answer, .toast .pre').first();
  const text = (await answer.textContent()) ?? '';
  if ((await page.locator('.command-answer').count()) > 0) {
    await page.keyboard.press('Escape');
    await page.locator('.command-answer').waitFor({ state: 'detached' });
  }
  for (const toast of await page.locator('.toast .quiet').all()) await toast.click();
  await expect.poll(() => page.locator('.toast').count()).toBe(0);
  return text;
}

/** Commands that the page answers with a panel of its own are not among them. */
const LINES = [
  ...[
    '/explain 9',
    '/history 5',
    '/history x',
    '/help undo',
    '/undo',
    '/undo',
    '/redo',
    '/redo',
    '/compact undo',
  ],
  ...['/rename Trip', '/queue nonsense', '/model x', '/switch nowhere', '/pin #9', '/unpin #1', '/nonsense'],
];

test.each([
  ['en-US', 'Message', 'The turn failed. Unexpected error: it broke.', /[a-z]{2,}/],
  ['zh-CN', '消息', '此轮失败：意外错误：it broke', /\p{Script=Han}/u],
])('no text of the page depends on the English of the server (%s)', async (locale, label, failed, words) => {
  await using at = await openServer(scripted(['I like boats.', new Error('it broke')]));
  await using proxy = await withoutEnglishOf(at.url);
  await using opened = await openPage(`${proxy.url}/#token=${TOKEN}`, { locale });
  const { page, complaints } = opened;
  const field = page.getByRole('textbox', { name: label, exact: true });
  await field.fill('hello');
  await page.keyboard.press('Enter');
  await page.locator('.answer:not(.live)').getByText('I like boats.').waitFor();
  for (const line of LINES) {
    const text = await shown(page, label, line);
    expect(text, line).toMatch(words);
    expect(text, line).not.toMatch(/(?:^|[\s：（])x(?:$|[\s.。）])/);
  }
  await field.fill('/und');
  expect(await page.getByRole('option').first().textContent()).toMatch(words);
  await field.fill('fail, please');
  await page.keyboard.press('Enter');
  await page.locator('.mark').getByText(failed, { exact: true }).waitFor();
  expect(complaints).toEqual([]);
});
