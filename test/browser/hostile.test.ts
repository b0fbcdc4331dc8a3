import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Page } from 'playwright-core';
import { expect, onTestFinished, test } from 'vitest';
import { openStore } from '../../src/config/open.ts';
import type { Tool } from '../../src/engine/tools/tool.ts';
import { renderSession } from '../../src/interop/export/formats.ts';
import { loadDocument } from '../../src/interop/session-document.ts';
import { createScriptedModel } from '../../src/models/scripted/scripted-model.ts';
import { openServer, TOKEN } from '../support/server/server.ts';
import { openPage } from './support/browser.ts';

const ATTACK =
  '<img src=x onerror="window.ran=1"><script>window.ran=1</script></script><svg onload="window.ran=1">' +
  '<iframe srcdoc="<script>parent.ran=1</script>"></iframe><a href="javascript:window.ran=1">go</a>';
const LINKS = [
  '[one](javascript:window.ran=1)',
  '[two](data:text/html,<script>window.ran=1</script>)',
  '[three](java\nscript:window.ran=1)',
  '<javascript:window.ran=1>',
  '![four](https://tracker.example/pixel.gif)',
  '[five](https://fine.example/ "x\\" onclick=\\"window.ran=1")',
].join('\n\n');

/** What another tool may have added to a session: every name in it is its own choice, ids too. */
function foreignLines(): string {
  const timestamp = '2026-01-01T00:00:00.000Z';
  const id = (n: number): string => `"><img src=x onerror="window.ran=1">${n}`;
  const image = (mimeType: string, data: string): object => ({ type: 'image', mimeType, data, name: ATTACK });
  const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" onload="window.ran=1"/>').toString(
    'base64',
  );
  const page = Buffer.from('<script>parent.ran=1</script>').toString('base64');
  const pictures = [
    image('image/svg+xml', svg),
    image('text/html', page),
    image('image/png"><script>window.ran=1</script><img x="', svg),
    image('image/png', 'x" onerror="window.ran=1'),
    { type: 'file', filename: ATTACK, mimeType: ATTACK, data: page },
  ];
  const call = { type: 'toolCall', id: id(9), name: ATTACK, arguments: {} };
  const said = (role: string, content: unknown, more: object = {}): object => ({
    type: 'message',
    message: { role, content, ...more },
  });
  const result = { toolCallId: id(9), toolName: ATTACK, isError: true };
  const entries = [
    said('user', [{ type: 'text', text: ATTACK }, ...pictures]),
    said('assistant', [call], { provider: ATTACK, model: ATTACK, stopReason: 'toolUse' }),
    said('toolResult', [{ type: 'text', text: ATTACK }, ...pictures], result),
    { type: 'custom_message', customType: ATTACK, content: ATTACK, display: true },
    { type: 'branch_summary', fromId: id(1), summary: ATTACK },
    { type: 'label', targetId: id(1), label: ATTACK },
    { type: 'session_info', name: ATTACK },
    said(ATTACK, ATTACK),
    said('user', `the other branch ${ATTACK}`),
    said('user', `kept ${ATTACK}`),
    { type: 'compaction', summary: ATTACK, firstKeptEntryId: id(10), tokensBefore: 1000 },
  ];
  // The ninth hangs where the fourth does.
  const parentOf = (n: number): string | null => (n === 1 ? null : id(n === 9 ? 3 : n - 1));
  const lines = entries.map((entry, i) => ({
    ...entry,
    id: id(i + 1),
    parentId: parentOf(i + 1),
    timestamp,
  }));
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('');
}

/** What is on the page that no text of a message may put there. */
function taken(page: Page): Promise<object> {
  return page.evaluate(() => ({
    ran: 'ran' in window,
    elements: document.querySelectorAll(
      'img:not([src^="data:image/png;base64,"]), script:not([src]), iframe, svg:not(.icon), object, embed, body style',
    ).length,
    handlers: [...document.querySelectorAll('*')].flatMap((element) =>
      element.getAttributeNames().filter((name) => name.startsWith('on')),
    ),
    links: [...document.querySelectorAll('a')]
      .map((link) => [link.getAttribute('href'), link.getAttribute('rel')])
      .filter(([href]) => href?.startsWith('#') !== true),
  }));
}
const NOTHING = { ran: false, elements: 0, handlers: [], links: [] };

test('I-70 T79 no text, name or answer runs, loads or becomes markup', async () => {
  const tool: Tool = {
    name: 'odd',
    description: 'x',
    inputSchema: { type: 'object', properties: {} },
    safe: true,
    run: async () => {
      throw new Error(ATTACK);
    },
  };
  const calls = [{ id: `call"><b>`, name: 'odd', input: { [ATTACK]: ATTACK } }];
  const answer = `${ATTACK}\n\n${LINKS}\n\n\`\`\`html${ATTACK}\n${ATTACK}\n\`\`\`\n\n| ${ATTACK} |\n|---|\n| ${ATTACK} |`;
  const model = createScriptedModel(
    [
      { thinking: { text: ATTACK }, text: ATTACK, calls },
      { text: answer },
      { text: ATTACK },
      { text: 'x', error: new TypeError(ATTACK) },
    ],
    { contextWindow: 100_000, model: ATTACK } as never,
  );
  const home = await mkdtemp(join(tmpdir(), 'reprise-hostile-'));
  onTestFinished(() => rm(home, { recursive: true }));
  const store = await openStore({ kind: 'jsonl', home });
  await store.create({ id: 'foreign', key: 'agent:main:session:foreign' });
  await store.append('foreign', [{ type: 'session_info', name: ATTACK }]);
  await appendFile(join(home, 'agents', 'main', 'sessions', 'foreign.jsonl'), foreignLines());
  // The holder of the lease has read the file.
  await (await store.lease('foreign')).release();
  const { title = '' } = await store.get('foreign');
  expect(title).toContain('<img src=x onerror=');
  await using at = await openServer(model, { store, tools: [tool] });
  await (await at.chat({ message: ATTACK, sessionId: 's' })).text();
  const patch = (body: object) =>
    at.request('/api/agents/main/sessions/s', {
      method: 'PATCH',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  expect((await patch({ label: ATTACK })).status).toBe(200);
  const heard = { text: ATTACK, channel: ATTACK, peer: ATTACK, peerKind: 'group' };
  const inbound = (more: object): Promise<Response> =>
    at.request('/api/inbound?wait=20', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...heard, sender: { id: ATTACK, name: ATTACK }, ...more }),
    });
  expect((await inbound({})).status).toBe(200);
  // No agent is called that: it is a folder too.
  expect((await inbound({ agentId: ATTACK })).status).toBe(400);
  await using opened = await openPage(`${at.url}/#token=${TOKEN}`, { userAgent: ATTACK });
  const { page, complaints } = opened;
  await page.goto(`${at.url}/#/s/main/s`);
  await page.locator('.answer:not(.live) figure.code').waitFor();
  for (const fold of await page.locator('.messages summary').all()) await fold.click();
  // Coloured, searched, in the tree, and failing: every place that shows text.
  await page.locator('figure.code span[class^=hl-]').first().waitFor();
  await page.keyboard.press('Control+k');
  await page.getByPlaceholder('Go to a session, run a command, or search').fill('onerror');
  await page.locator('.hits mark').first().waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Session actions' }).click();
  await page.getByRole('menuitem', { name: 'Tree' }).click();
  await page.locator('.branches button').first().waitFor();
  await page.keyboard.press('Escape');
  await page.getByLabel('Message', { exact: true }).fill(ATTACK);
  await page.keyboard.press('Enter');
  await page.locator('.mark').getByText('The turn failed').last().waitFor();
  const link = ['https://fine.example/', 'noopener noreferrer nofollow'];
  expect(await taken(page)).toEqual({ ...NOTHING, links: [link] });
  expect(await page.locator('.said').first().textContent()).toBe(ATTACK);
  expect(await page.locator('h1').textContent()).toBe(ATTACK);

  // A picture is painted under whatever name it has, and an SVG is only that.
  const name = '<img src=x onerror="window.ran=1">.svg';
  const drawing = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" onload="parent.ran=1"/>');
  await page.locator('input[type=file]').setInputFiles({ name, mimeType: 'image/svg+xml', buffer: drawing });
  const picture = page.locator('.attachments img');
  expect(await picture.getAttribute('alt')).toBe(`1 ${name}`);
  expect(await taken(page)).toEqual({ ...NOTHING, elements: 1, links: [link] });
  await page.locator('.attachments').getByRole('button').click();

  // Channels and members, in the table, its drawer and the funnel.
  await page.goto(`${at.url}/#/chats`);
  await page.locator('.admin-table tbody').getByRole('button', { name: 'onerror' }).click();
  await page.locator('.drawer .message').nth(1).waitFor();
  expect(await page.locator('.drawer .message b').first().textContent()).toBe(ATTACK);
  expect(await taken(page)).toEqual(NOTHING);
  await page.keyboard.press('Escape');
  await page.getByRole('tab', { name: 'Sessions' }).click();
  await page.locator('.facets > summary').click();
  await page.locator('.facets option').filter({ hasText: 'onerror' }).first().waitFor({ state: 'attached' });
  expect(await taken(page)).toEqual(NOTHING);

  // All that another tool may have named, at a message with its own id, and with the other branch.
  const entry = encodeURIComponent('"><img src=x onerror="window.ran=1">1');
  await page.goto(`${at.url}/#/s/main/foreign/${entry}`);
  await page.locator('.said').filter({ hasText: 'the other branch' }).waitFor();
  expect(await page.locator('h1').textContent()).toBe(title);
  for (const fold of await page.locator('.messages summary').all()) await fold.click();
  expect(await page.locator('.tool summary b').textContent()).toBe(ATTACK);
  await page.locator('.pictures img').first().waitFor({ state: 'attached' });
  await page.locator('.fold').getByRole('button', { name: 'Summary' }).click();
  await page.getByRole('button', { name: 'Session actions' }).click();
  await page.getByRole('menuitem', { name: 'Tree' }).click();
  await page.locator('.branches button').nth(2).waitFor();
  expect(await taken(page)).toEqual(NOTHING);
  expect(complaints).toEqual([]);

  for (const id of ['s', 'foreign']) {
    const file = join(home, `${id}.html`);
    const document = await loadDocument(store, await store.get(id));
    await writeFile(file, [...renderSession(document, 'html', {})].join(''));
    const { href } = pathToFileURL(file);
    await using exported = await openPage(href);
    for (const fold of await exported.page.locator('details > summary').all()) await fold.click();
    expect(await exported.page.title()).toContain('<img src=x onerror=');
    expect(await taken(exported.page)).toEqual(NOTHING);
    // Itself, and nothing else.
    expect(exported.complaints).toEqual([`request: ${href}`]);
  }
});

test('I-70 the browser itself refuses markup that the page would never create', async () => {
  await using at = await openServer(createScriptedModel([]));
  await using opened = await openPage(`${at.url}/#token=${TOKEN}`);
  const { page } = opened;
  const refused = await page.evaluate(() => {
    const box = document.createElement('div');
    const tried: string[] = [];
    for (const act of [
      () => {
        box.innerHTML = '<b>x</b>';
      },
      () => document.write('x'),
    ])
      try {
        act();
      } catch (error) {
        tried.push((error as Error).name);
      }
    const style = document.createElement('style');
    style.textContent = 'body { color: rgb(1, 2, 3) }';
    document.head.append(style);
    return { tried: tried.length, colour: getComputedStyle(document.body).color };
  });
  expect(refused.tried).toBe(2);
  expect(refused.colour).not.toBe('rgb(1, 2, 3)');
});
