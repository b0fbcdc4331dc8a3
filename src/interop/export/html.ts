import { createHash } from 'node:crypto';
import type { SessionDocument } from '../session-document.ts';
import { escapeHtml } from './escape.ts';
import { PAGE_STYLE } from './html-style.ts';
import { firstWords, type StoryItem, type StoryPart, storyOf } from './story.ts';

/** Content Security Policy: nothing runs, loads or is sent. The style is allowed by its hash; images are embedded. */
const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(PAGE_STYLE).digest('base64')}'`,
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

/** One self-contained page to read, print or send. All message text is escaped. */
export function* toHtml(document: SessionDocument): Generator<string> {
  const { id, key, createdAt, lastAt } = document;
  const title = escapeHtml(firstWords(document));
  yield `<!doctype html>
<html lang="und">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${escapeHtml(POLICY)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>${title}</title>
<style>${PAGE_STYLE}</style>
</head>
<body>
<header>
<h1>${title}</h1>
<p>${[`session ${id}`, key].map(escapeHtml).join(' · ')}<br>${time(createdAt)} to ${time(lastAt)}</p>
</header>
<main>
`;
  for (const item of storyOf(document)) yield `${itemHtml(item)}\n`;
  yield `</main>
</body>
</html>
`;
}

function itemHtml(item: StoryItem): string {
  switch (item.kind) {
    case 'note':
      return `<p class="note">${escapeHtml(item.text)}</p>`;
    case 'message': {
      const side = item.who === 'user' ? 'user' : 'other';
      const model = item.model === '' ? '' : ` · ${escapeHtml(item.model)}`;
      const head = `${escapeHtml(item.who)} <span class="when">${time(item.at)}${model}</span>`;
      return `<article class="${side}"><h2>${head}</h2>${item.parts.map(partHtml).join('')}</article>`;
    }
    case 'rule': {
      const { originals, summary, at } = item;
      const count = originals.filter(({ kind }) => kind === 'message').length;
      const head = `${count} messages compacted <span class="when">${time(at)}</span>`;
      const folded =
        originals.length === 0
          ? `<p class="note">${head}</p>`
          : `<details><summary>${head}; open for the originals</summary>${originals.map(itemHtml).join('\n')}</details>`;
      return `<section class="rule">${folded}<div class="text">${escapeHtml(summary)}</div></section>`;
    }
  }
}

function partHtml(part: StoryPart): string {
  switch (part.kind) {
    case 'text':
      return part.text === '' ? '' : `<div class="text">${escapeHtml(part.text)}</div>`;
    case 'thinking':
      return `<details><summary>thinking</summary><div class="text">${escapeHtml(part.text)}</div></details>`;
    case 'image':
      return imageHtml(part.data, part.mimeType);
    case 'call': {
      const result =
        part.result === undefined
          ? '<p class="note">no result</p>'
          : part.result.map(resultHtml).join('') || '<p class="note">no output</p>';
      const state = part.isError ? ', failed' : '';
      const head = `<summary>${escapeHtml(part.name)}${state}</summary>`;
      return `<details${part.isError ? ' class="failed"' : ''}>${head}<pre>${escapeHtml(part.input)}</pre>${result}</details>`;
    }
  }
}

function resultHtml(part: StoryPart): string {
  return part.kind === 'text' ? `<pre>${escapeHtml(part.text)}</pre>` : partHtml(part);
}

/** Raster images only: SVG can contain scripts. Any other image type is named, not shown. */
const SHOWN = /^image\/(?:png|jpeg|gif|webp|avif|bmp)$/;

function imageHtml(data: string, mimeType: string): string {
  const isPicture = SHOWN.test(mimeType) && /^[A-Za-z0-9+/]+={0,2}$/.test(data);
  if (!isPicture) return `<p class="note">[image, ${escapeHtml(mimeType)}]</p>`;
  return `<img alt="image" src="data:${mimeType};base64,${data}">`;
}

function time(iso: string): string {
  return `<time>${escapeHtml(iso.replace('T', ' ').replace(/\.\d+Z$/, ' UTC'))}</time>`;
}
