import { existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type JsonObject, parseTranscript } from '../../src/exports/transcript.ts';
import type { Store } from '../../src/index.ts';
import { safeName, writeFileSafely } from '../../src/interop/export/file-writer.ts';
import { EXPORT_FORMATS, type ExportFormat, renderSession } from '../../src/interop/export/formats.ts';
import { loadDocument, redactDocument } from '../../src/interop/session-document.ts';
import { validateAnthropicMessages } from '../../testing/index.ts';
import { fillStore, freshFolder, freshStore, importFrom } from '../support/store/interop-home.ts';

async function render(
  store: Store,
  id: string,
  format: ExportFormat,
  options: { full?: boolean; seals?: boolean; redact?: boolean } = {},
): Promise<string> {
  const document = await loadDocument(store, await store.get(id));
  const shown = options.redact === true ? redactDocument(document) : document;
  return [...renderSession(shown, format, options)].join('');
}

async function say(store: Store, id: string, ...contents: readonly unknown[]): Promise<void> {
  await store.create({ id, key: `agent:main:session:${id}` });
  for (const content of contents)
    await store.append(id, [{ type: 'message', message: { role: 'user', content } }]);
}

/** T79: everything a page could take for its own. */
const TRICKS = [
  '<img src=x onerror=alert(1)>',
  '</script><script>alert(1)</script>',
  '[click](javascript:alert(1))',
  '![pixel](https://tracker.example/p.png)',
  '<a href="data:text/html,<b>x">x</a>',
  '<svg onload=alert(1)>',
  '"><b onmouseover=alert(1) x="',
  '[x]: javascript:alert(1)',
  '<https://evil.example>',
  '```\n</details><script>alert(1)</script>',
  '~~~html\n<script>alert(1)</script>\n~~~\n<i>',
  "'; --",
  '&lt;script&gt;',
  '--> ]]> {{7*7}}',
  '\u202egnp.exe',
  '# heading\n===\n---',
  '    <script>alert(1)</script>',
];

async function trickyStore(): Promise<Store> {
  const store = await freshStore();
  for (const [i, trick] of TRICKS.entries()) await say(store, `t${i}`, trick);
  await store.create({
    id: 'all',
    key: `agent:main:web:direct:${encodeURIComponent('<img onerror=1>').replace(/%3C/g, '<').replace(/%3E/g, '>').replace(/%20/g, ' ').replace(/%3D/g, '=')}`,
  });
  const trick = TRICKS[0] ?? '';
  await store.append('all', [
    {
      type: 'message',
      message: {
        role: 'user',
        content: [
          { type: 'image', data: 'x" onerror="alert(1)', mimeType: 'image/png' },
          { type: 'image', data: 'PHN2Zz4=', mimeType: 'image/svg+xml' },
        ],
      },
    },
    { type: 'model_change', provider: trick, modelId: trick },
    {
      type: 'message',
      message: {
        role: 'assistant',
        provider: trick,
        model: trick,
        stopReason: 'error',
        errorMessage: trick,
        content: [
          { type: 'thinking', thinking: trick },
          { type: 'toolCall', id: trick, name: trick, arguments: { [trick]: trick } },
        ],
      },
    },
    {
      type: 'message',
      message: {
        role: 'toolResult',
        toolCallId: trick,
        toolName: trick,
        isError: true,
        content: [{ type: 'text', text: trick }],
      },
    },
    { type: 'compaction', summary: trick, firstKeptEntryId: trick, tokensBefore: 1 },
    { type: 'custom_message', customType: trick, content: trick, display: true },
    { type: 'session_info', name: trick },
  ]);
  return store;
}

/** The tags of a page: what a browser would act on. */
function tagsOf(page: string): Set<string> {
  const body = page.slice(page.indexOf('<body>'));
  return new Set(
    [...body.matchAll(/<\/?([a-z0-9]+)([^>]*)>/gi)].map(
      ([, name = '', rest = '']) => `${name}${rest.replace(/"data:image\/png;base64,[^"]*"/, '"…"')}`,
    ),
  );
}

const ALLOWED = [
  'body',
  'header',
  'h1',
  'p',
  'br',
  'main',
  'time',
  'section class="rule"',
  'section',
  'details',
  'details class="failed"',
  'summary',
  'div class="text"',
  'div',
  'article class="user"',
  'article class="other"',
  'article',
  'h2',
  'span class="when"',
  'span',
  'pre',
  'p class="note"',
  'img alt="image" src="…"',
  'html',
];

describe('a page of a session', () => {
  test('T79 shows tricks as text: nothing of them becomes a tag', async () => {
    const store = await trickyStore();
    for (const { id } of (await store.list({ limit: 100 })).sessions) {
      const page = await render(store, id, 'html');
      for (const tag of tagsOf(page)) expect(ALLOWED, `${id}: ${tag}`).toContain(tag);
      expect(page.match(/<script/gi)).toBe(null);
      expect(page).not.toContain('\u202e');
    }
    expect(await render(store, 't0', 'html')).toContain('&lt;img src=x onerror=alert(1)&gt;');
    expect(await render(store, 't12', 'html')).toContain('&amp;lt;script&amp;gt;');
  });

  test('may run, load and send nothing, and needs nothing', async () => {
    const store = await freshStore();
    await fillStore(store);
    const page = await render(store, 'main-1', 'html');
    const [, policy = ''] = /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(page) ?? [];
    expect(policy).toContain('default-src &#39;none&#39;');
    expect(policy).not.toContain('unsafe');
    const [, style = ''] = /<style>([\s\S]*?)<\/style>/.exec(page) ?? [];
    const digest = await crypto.subtle.digest('SHA-256', Buffer.from(style));
    expect(policy).toContain(`sha256-${Buffer.from(digest).toString('base64')}`);
    expect(page).not.toMatch(/https?:|url\(|@import|\son[a-z]+=/);
    expect(style).toContain('prefers-color-scheme: dark');
    expect(style).toContain('@media print');
  });

  test('folds calls with their results, and originals under the rule that stands for them', async () => {
    const store = await freshStore();
    await fillStore(store);
    const page = await render(store, 'main-1', 'html');
    const rule = page.slice(page.indexOf('class="rule"'), page.indexOf('</section>'));
    expect(rule).toContain('5 messages compacted');
    expect(rule).toContain('And this?');
    expect(rule).toContain('A dot was seen.');
    expect(rule).toMatch(/<summary>read_file<\/summary><pre>[^<]*a\.txt[^<]*<\/pre><pre>alpha<\/pre>/);
    expect(rule).toContain('<summary>read_file, failed</summary>');
    expect(rule).not.toContain('Thank you.');
    expect(page.slice(page.indexOf('</section>'))).toContain('Thank you.');
    expect(page).toContain('<img alt="image" src="data:image/png;base64,iVBOR');
  });
});

describe('Markdown of a session', () => {
  /** Outside of our fences. */
  function prose(markdown: string): string {
    let fence = '';
    const lines = markdown.split('\n').filter((line) => {
      const [run = ''] = /^`{3,}/.exec(line.replace(/^(?:> ?)+/, '')) ?? [];
      if (fence === '' && run !== '') {
        fence = run;
        return false;
      }
      if (fence !== '' && line.replace(/^(?:> ?)+/, '') === fence) {
        fence = '';
        return false;
      }
      return fence === '';
    });
    expect(fence).toBe('');
    return lines.join('\n');
  }

  test('T79 holds no HTML, link, image or heading from a message', async () => {
    const store = await trickyStore();
    for (const { id } of (await store.list({ limit: 100 })).sessions) {
      const text = prose(await render(store, id, 'markdown'));
      expect(text, id).not.toMatch(/</);
      expect(text, id).not.toMatch(/(?<!\\)\]\s?[([:]/);
      expect(text, id).not.toMatch(/(?<!\\)[[\]]/);
      expect(text, id).not.toContain('\u202e');
      for (const line of text.split('\n').slice(1))
        expect(line, id).not.toMatch(/^(?:> )*(?: {4}|=+\s*$|# )/);
    }
  });

  test('keeps code as it was written', async () => {
    const store = await freshStore();
    await say(store, 'code', 'see:\n```html\n<b>&amp;</b>\n```\nand `x`');
    expect(await render(store, 'code', 'markdown')).toContain('```html\n<b>&amp;</b>\n```');
  });

  test('quotes what a summary stands for', async () => {
    const store = await freshStore();
    await fillStore(store);
    const text = await render(store, 'main-1', 'markdown');
    expect(text).toContain('5 messages compacted');
    expect(text).toMatch(/^> And this\?$/m);
    expect(text).toMatch(/^Thank you\.$/m);
  });
});

describe('v3', () => {
  const large = 'long '.repeat(30_000);

  async function withBlob(): Promise<Store> {
    const store = await freshStore();
    await store.create({ id: 'big', key: 'agent:main:main' });
    const content = [{ type: 'text', text: large }];
    await store.append('big', [
      {
        type: 'message',
        message: { role: 'toolResult', toolCallId: 'c', toolName: 't', isError: false, content },
      },
    ]);
    return store;
  }

  test('has everything in its lines, and no seals unless asked', async () => {
    const text = await render(await withBlob(), 'big', 'v3');
    expect(text).toContain(large);
    expect(text).not.toContain('"seal"');
    expect(parseTranscript(text).header).toMatchObject({
      type: 'session',
      version: 3,
      id: 'big',
      key: 'agent:main:main',
    });
  });

  test('with seals verifies as the original does', async () => {
    const { sealed, issues, entries } = parseTranscript(
      await render(await withBlob(), 'big', 'v3', { seals: true }),
    );
    expect(sealed).toBe(true);
    expect([...issues.counts]).toEqual([]);
    expect(JSON.stringify(entries)).toContain(large);
  });
});

describe('API messages', () => {
  test('are what a model would be sent now, or all messages', async () => {
    const store = await freshStore();
    await fillStore(store);
    const now = JSON.parse(await render(store, 'main-1', 'anthropic')) as JsonObject[];
    expect(validateAnthropicMessages(now)).toEqual([]);
    expect(JSON.stringify(now)).toContain('A dot was seen.');
    expect(JSON.stringify(now)).not.toContain('And this?');
    const all = JSON.parse(await render(store, 'main-1', 'anthropic', { full: true })) as JsonObject[];
    expect(validateAnthropicMessages(all)).toEqual([]);
    expect(JSON.stringify(all)).toContain('And this?');
    expect(JSON.stringify(all)).not.toContain('A dot was seen.');
    expect(JSON.parse(await render(store, 'main-1', 'openai'))).toContainEqual(
      expect.objectContaining({ role: 'tool' }),
    );
  });
});

test('an export as JSON comes back as it was', async () => {
  const store = await freshStore();
  await fillStore(store);
  const file = join(freshFolder(), 'main.json');
  writeFileSync(file, await render(store, 'main-1', 'json'));
  const copy = await freshStore();
  const { sessions } = await importFrom(copy, file);
  expect(sessions).toMatchObject([{ action: 'new', id: 'main-1', key: 'agent:main:main' }]);
  expect(await render(copy, 'main-1', 'anthropic')).toBe(await render(store, 'main-1', 'anthropic'));
  expect((await copy.get('main-1')).title).toBe('Two files');
});

test('secrets are masked in every format, and images stay whole', async () => {
  const store = await freshStore();
  const secret = 'sk-abc123def456ghi789jkl';
  // Looks like a key, and is a picture.
  const data = `AKIA${'B'.repeat(16)}`;
  await say(store, 's', `my key is ${secret}`, [{ type: 'image', mimeType: 'image/png', data }]);
  await store.append('s', [{ type: 'session_info', name: `about ${secret}` }]);
  for (const format of Object.keys(EXPORT_FORMATS) as ExportFormat[]) {
    expect(await render(store, 's', format), format).toContain(secret);
    const masked = await render(store, 's', format, { redact: true });
    expect(masked, format).not.toContain(secret.slice(4));
    if (format !== 'markdown')
      expect(masked, format).toContain(format === 'openai' || format === 'anthropic' ? '*' : data);
  }
});

describe('a file that is written', () => {
  test('is for its owner only, and replaces nothing unasked', async () => {
    const file = join(freshFolder(), 'deep', 'a.md');
    await writeFileSafely(file, 'one');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    await expect(writeFileSafely(file, 'two')).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    expect(readFileSync(file, 'utf8')).toBe('one');
    await writeFileSafely(file, 'two', { force: true });
    expect(readFileSync(file, 'utf8')).toBe('two');
  });

  test('takes the place of a link, and leaves what the link led to alone', async () => {
    const folder = freshFolder();
    const victim = join(folder, 'victim');
    writeFileSync(victim, 'mine');
    symlinkSync(victim, join(folder, 'link'));
    await writeFileSafely(join(folder, 'link'), 'new', { force: true });
    expect(readFileSync(victim, 'utf8')).toBe('mine');
    expect(readFileSync(join(folder, 'link'), 'utf8')).toBe('new');
  });

  test('where it cannot be written leaves nothing behind', async () => {
    const folder = freshFolder();
    mkdirSync(join(folder, 'is-a-folder', 'x'), { recursive: true });
    await expect(writeFileSafely(join(folder, 'is-a-folder'), 'x', { force: true })).rejects.toMatchObject({
      code: 'INVALID_INPUT',
    });
    expect(existsSync(join(folder, 'is-a-folder', 'x'))).toBe(true);
  });

  test('has a name that is one, whatever the id is', () => {
    const ids = [
      '',
      '.',
      '..',
      '../../x',
      'a/b',
      'a\\b',
      'CON ',
      'x'.repeat(5000),
      '\u0000',
      '\ud800',
      '\ud801',
      'ü',
      '-100',
    ];
    const names = ids.map(safeName);
    for (const name of names) expect(name).toMatch(/^[A-Za-z0-9%~_-][A-Za-z0-9._%~-]{0,199}$/);
    expect(new Set(names).size).toBe(ids.length);
    expect(safeName('-100')).toBe('-100');
  });
});
