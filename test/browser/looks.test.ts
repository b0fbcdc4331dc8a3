import { readdirSync, readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { RepriseError } from '../../src/errors.ts';
import { createOfflineModel } from '../../src/models/offline/offline-model.ts';
import { scripted } from '../support/engine/engine.ts';
import { openServer, TOKEN } from '../support/server/server.ts';
import { complaintsOf } from './support/axe.ts';
import { openPage } from './support/browser.ts';

const ANSWER =
  '# Head\n\nSome **text** with `code` and [a link](https://example.org).\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```ts\nconst x = 1; // note\n```\n\n- [x] done';

describe('for every user', () => {
  test.each([
    ['light', { colorScheme: 'light' }],
    ['dark', { colorScheme: 'dark' }],
    ['phone', { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true }],
  ] as const)('axe finds nothing to complain about: %s', async (_name, options) => {
    const usage = { input: 10, output: 5, cacheRead: 0, cacheWrite: 0, totalTokens: 15 };
    await using at = await openServer(scripted([{ thinking: { text: 'hm' }, text: ANSWER, usage }]));
    await using opened = await openPage(at.url, options);
    const { page } = opened;
    await page.getByLabel('Token').waitFor();
    expect(await complaintsOf(page)).toEqual([]);
    await page.getByLabel('Token').fill(TOKEN);
    await page.keyboard.press('Enter');
    await page.getByLabel('Message', { exact: true }).fill('hello');
    await page.keyboard.press('Enter');
    await page.locator('.answer:not(.live) figure.code span[class^=hl-]').first().waitFor();
    expect(await complaintsOf(page)).toEqual([]);
    const fits = await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth);
    expect(fits).toBe(true);
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog').waitFor();
    expect(await complaintsOf(page)).toEqual([]);
  });

  test('works with a keyboard alone: sign in, send a message, open its menu, search and come back', async () => {
    await using at = await openServer(createOfflineModel());
    await using opened = await openPage(at.url);
    const { page } = opened;
    const focused = (): Promise<string> =>
      page.evaluate(
        () => document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.id ?? '',
      );
    await expect.poll(focused).toBe('token');
    await page.keyboard.type(TOKEN);
    await page.keyboard.press('Enter');
    await expect.poll(focused).toBe('Message');
    await page.keyboard.type('hello there');
    await page.keyboard.press('Enter');
    await page.locator('.answer:not(.live)').waitFor();
    await expect.poll(focused).toBe('Message');
    for (let i = 0; i < 20 && (await focused()) !== 'Message actions'; i++)
      await page.keyboard.press('Shift+Tab');
    expect(await focused()).toBe('Message actions');
    await page.keyboard.press('Enter');
    await page.getByRole('menu').waitFor();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Escape');
    await page.getByRole('menu').waitFor({ state: 'hidden' });
    expect(await focused()).toBe('Message actions');
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.keyboard.press('Control+k');
    await expect.poll(focused).toBe('Search all sessions');
    await page.keyboard.type('hello');
    await page.locator('.hits [role=option]:not(.offer)').first().waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.keyboard.press('Alt+n');
    await page.getByText('Start a conversation').waitFor();
  });

  test('an answer is announced once to a screen reader, when it has ended', async () => {
    await using at = await openServer(scripted(['It is ready.']));
    await using opened = await openPage(`${at.url}/#token=${TOKEN}`);
    const { page } = opened;
    await page.getByLabel('Message', { exact: true }).fill('go');
    await page.keyboard.press('Enter');
    await page
      .locator('[role=status][aria-live=polite].offscreen')
      .getByText('Answer: It is ready.')
      .waitFor();
  });

  test('on a phone the list covers the page on request, and closes when a session is chosen', async () => {
    await using at = await openServer(createOfflineModel());
    await (await at.chat({ message: 'hello', sessionId: 'one' })).text();
    const options = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };
    await using opened = await openPage(`${at.url}/#token=${TOKEN}`, options);
    const { page } = opened;
    await page.getByRole('button', { name: 'Show sessions' }).tap();
    await page.locator('.session').tap();
    await page.locator('.answer').waitFor();
    await expect.poll(() => page.locator('.session').isVisible()).toBe(false);
  });

  test('is in Chinese, also texts of the server; the chosen language survives a reload', async () => {
    await using at = await openServer(scripted([new RepriseError('MODEL_AUTH', 'no such key')]));
    await using opened = await openPage(`${at.url}/#token=${TOKEN}`, { locale: 'zh-CN' });
    const { page } = opened;
    await page.getByText('开始对话').waitFor();
    expect(await page.getAttribute('html', 'lang')).toBe('zh');
    const say = async (text: string): Promise<void> => {
      await page.getByRole('textbox', { name: '消息' }).fill(text);
      await page.keyboard.press('Enter');
    };
    await say('你好');
    await page
      .locator('.mark')
      .getByText('此轮失败：模型服务拒绝了密钥，或账户余额不足：no such key')
      .waitFor();
    await page.getByRole('textbox', { name: '消息' }).fill('/und');
    await page.getByRole('option', { name: '/undo' }).getByText('撤销上一轮、压缩或重置').waitFor();
    await say('/rename 星期五');
    await page.getByText('此会话现名“星期五”。').waitFor();
    await say('/queue nonsense');
    await page.getByText(/^\/queue 不认识“nonsense”/).waitFor();
    // Another language is chosen for good.
    await page.getByRole('button', { name: '更多', exact: true }).click();
    await page.getByRole('menuitem', { name: '设置' }).click();
    await page.getByLabel('语言', { exact: true }).selectOption('en');
    await page.reload();
    await page.locator('.mark').getByText('The turn failed. No such key.').waitFor();
    expect(opened.complaints).toEqual([]);
  });
});

test('behind a proxy under another path the page and its API work', async () => {
  await using at = await openServer(scripted(['through the proxy']));
  const { createServer, request } = await import('node:http');
  const proxy = createServer((incoming, outgoing) => {
    const path = (incoming.url ?? '').replace(/^\/tools\/reprise/, '');
    if (path === incoming.url) {
      outgoing.writeHead(404).end();
      return;
    }
    const headers = { ...incoming.headers };
    const onward = request(new URL(path, at.url), { method: incoming.method ?? 'GET', headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    // The server may be closed while the page still asks.
    onward.on('error', () => outgoing.destroy());
    incoming.pipe(onward);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  try {
    const { port } = proxy.address() as { port: number };
    await using opened = await openPage(`http://127.0.0.1:${port}/tools/reprise/#token=${TOKEN}`);
    const { page, complaints } = opened;
    await page.getByLabel('Message', { exact: true }).fill('hi');
    await page.keyboard.press('Enter');
    await page.locator('.answer:not(.live)').getByText('through the proxy').waitFor();
    expect(complaints).toEqual([]);
  } finally {
    proxy.closeAllConnections();
    proxy.close();
  }
});

test('the page is one script of at most 80 KB, and only the highlighter and the texts of the server are loaded apart', () => {
  const folder = 'dist/web/assets';
  const size = (name: string): number => gzipSync(readFileSync(`${folder}/${name}`), { level: 9 }).length;
  const names = readdirSync(folder);
  const scripts = names.filter((name) => name.endsWith('.js'));
  const main = scripts.find((name) => plainName(name) === 'index') ?? '';
  // One script, so that no view is missing after an offline moment; that is worth more than the 35 KB of a split one.
  expect(scripts.map(plainName).sort()).toEqual(['chinese', 'english', 'highlight-worker', 'index']);
  expect(readFileSync(`${folder}/${main}`, 'utf8')).not.toMatch(/import\s*[("'`]?\s*["'`]\.\//);
  expect(names.filter((name) => name.endsWith('.css')).map(size)[0]).toBeLessThan(10 * 1024);
  const documented = [...readFileSync('docs/web.md', 'utf8').matchAll(/^\| `([\w-]+)` \| (\d+) KB \|/gm)];
  expect(documented.map(([, name]) => name).sort()).toEqual(scripts.map(plainName).sort());
  expect(documented.find(([, name]) => name === 'index')?.[2]).toBe('80');
  for (const [, name, limit] of documented) {
    const file = scripts.find((script) => plainName(script) === name) ?? '';
    expect(size(file), name).toBeLessThanOrEqual(Number(limit) * 1024);
  }
});

/** Without the hash of its content. */
function plainName(file: string): string {
  return file.replace(/-.{8}\.js$/, '');
}

test('its files are sent compressed and cached permanently by their names; no other file is served', async () => {
  await using at = await openServer(scripted([]));
  const index = await fetch(at.url);
  expect(index.headers.get('cache-control')).toBe('no-cache');
  const html = await index.text();
  const [, script = ''] = /src="\.(\/assets\/[^"]+)"/.exec(html) ?? [];
  const answer = await fetch(at.url + script);
  expect(answer.headers.get('content-encoding')).toBe('gzip');
  expect(answer.headers.get('cache-control')).toContain('immutable');
  expect(answer.headers.get('content-security-policy')).toMatch(
    /script-src 'self';.*trusted-types reprise-worker$/,
  );
  const plain = await fetch(at.url + script, { headers: { 'accept-encoding': 'identity' } });
  expect(plain.headers.get('content-encoding')).toBeNull();
  expect(await plain.text()).toBe(await answer.text());
  for (const path of ['/assets/none.js', '/assets/..%2findex.html', '/index.html'])
    expect((await fetch(at.url + path)).status, path).toBeGreaterThanOrEqual(400);
});
