import { render } from 'preact';
import type { HistoryRow, SessionView } from 'reprise/client';
import { attempt } from '../api/api.ts';
import { fullTime, modelName } from '../i18n/format.ts';
import { language, t } from '../i18n/strings.ts';
import { Markdown } from '../markdown/markdown.tsx';
import { say } from '../shell/toasts.ts';
import type { Conversation } from './conversation.ts';
import { nameOf } from './session-keys.ts';
import { whoSaid } from './who-said.ts';

const PAGE = 500;
const MAX_NAME_CHARS = 80;
/** The page that others open has no script and loads nothing. */
const STYLE =
  'body{font:16px/1.6 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark;' +
  'color:light-dark(#1c2027,#e4e7ec);background:light-dark(#fff,#16181d)}header{color:#808a98;font-size:.85rem}' +
  'article{margin:1.6rem 0}article.user .text{background:light-dark(#eaeefb,#262e48);padding:.5rem .8rem;' +
  'border-radius:.6rem;white-space:pre-wrap}pre{overflow:auto;padding:.7rem;border-radius:.5rem;' +
  'background:light-dark(#f1f3f6,#111317)}table{border-collapse:collapse}td,th{border:1px solid #8886;padding:.2rem .5rem}' +
  'button,summary .copy{display:none}';

/** A file name made of a title: letters, digits and dashes of any script. */
export function fileName(title: string, ending: string): string {
  const words = title
    .normalize('NFC')
    .replace(/[^\p{L}\p{N}\p{M}]+/gu, '-')
    .replace(/^-|-$/g, '')
    .slice(0, MAX_NAME_CHARS);
  return `${words === '' ? 'session' : words}.${ending}`;
}

export function saveFile(name: string, parts: readonly BlobPart[], type: string): void {
  const url = URL.createObjectURL(new Blob([...parts], { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // Late enough for the browser to have read the URL.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** Saves the messages of the current branch as a text that other programs read, or as one page for the browser. */
export async function shareSession(conversation: Conversation, format: 'md' | 'html'): Promise<void> {
  await attempt(async () => {
    const view = conversation.history.view.value;
    const title = view === undefined ? t('chat') : nameOf(view);
    const said = (await wholeHistory(conversation)).filter(isSaid);
    const name = fileName(title, format);
    if (format === 'md') saveFile(name, [asMarkdown(title, said, view)], 'text/markdown');
    else saveFile(name, [asPage(title, said, view)], 'text/html');
    say(t('exported', name));
  });
}

async function wholeHistory({ remote }: Conversation): Promise<readonly HistoryRow[]> {
  let rows: readonly HistoryRow[] = [];
  for (let hasMore = true; hasMore; ) {
    const [first] = rows;
    const page = await remote.history({ limit: PAGE, ...(first !== undefined && { before: first.id }) });
    rows = [...page.data, ...rows];
    hasMore = page.hasMore && page.data.length > 0;
  }
  return rows;
}

function isSaid({ role, text }: HistoryRow): boolean {
  return (role === 'user' || role === 'assistant') && text.trim() !== '';
}

function nameOfRow(row: HistoryRow, view: SessionView | undefined): string {
  if (row.role === 'user') return whoSaid(row.text, view).author ?? t('you');
  return row.model === undefined ? t('answer') : modelName(row.model);
}

function textOfRow(row: HistoryRow, view: SessionView | undefined): string {
  return row.role === 'user' ? whoSaid(row.text, view).said : row.text;
}

function asMarkdown(title: string, rows: readonly HistoryRow[], view: SessionView | undefined): string {
  const parts = rows.map((row) => {
    const head = `## ${nameOfRow(row, view)} · ${fullTime(row.timestamp)}`;
    return `${head}\n\n${textOfRow(row, view)}`;
  });
  return `${[`# ${title}`, ...parts].join('\n\n')}\n`;
}

/** Made of DOM nodes, as on the page: no message becomes markup (I-54). */
function asPage(title: string, rows: readonly HistoryRow[], view: SessionView | undefined): string {
  const page = document.implementation.createHTMLDocument(title);
  page.documentElement.lang = language.value;
  const head = (tag: string, set: Readonly<Record<string, string>>, text = ''): void => {
    const element = page.createElement(tag);
    for (const [name, value] of Object.entries(set)) element.setAttribute(name, value);
    element.textContent = text;
    page.head.append(element);
  };
  head('meta', { charset: 'utf-8' });
  head('meta', { name: 'viewport', content: 'width=device-width, initial-scale=1' });
  head('style', {}, STYLE);
  const h1 = page.createElement('h1');
  h1.textContent = title;
  page.body.append(h1);
  for (const row of rows) {
    const article = document.createElement('article');
    article.className = row.role;
    const text = textOfRow(row, view);
    render(
      <>
        <header>
          <b>{nameOfRow(row, view)}</b> {fullTime(row.timestamp)}
        </header>
        <div class="text">{row.role === 'user' ? text : <Markdown text={text} />}</div>
      </>,
      article,
    );
    page.body.append(page.importNode(article, true));
    render(null, article);
  }
  return `<!doctype html>\n${new XMLSerializer().serializeToString(page.documentElement)}\n`;
}
