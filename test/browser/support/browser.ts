import { execFileSync } from 'node:child_process';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { ensureWeb } from '../../../scripts/build-web.ts';

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
  // A turn of the wheel is one step: a place that is read is where it stays.
  '--disable-smooth-scrolling',
];

/** The Chromium of this machine. There is no skipping: a page nobody opened is not tested. */
export async function openBrowser(): Promise<Browser> {
  const executablePath = findChromium();
  if (executablePath === undefined)
    throw new Error('No Chromium on the PATH: the browser tests need one (apt-get install chromium).');
  await ensureWeb();
  return chromium.launch({ executablePath, args: FLAGS });
}

export function findChromium(): string | undefined {
  for (const name of ['chromium', 'chromium-browser', 'google-chrome']) {
    try {
      return execFileSync('which', [name], { encoding: 'utf8' }).trim();
    } catch {
      // The next name.
    }
  }
  return undefined;
}

export interface OpenedPage extends AsyncDisposable {
  readonly page: Page;
  readonly context: BrowserContext;
  /** What the page complained about: errors, refused scripts, and requests to anywhere but its server. */
  readonly complaints: readonly string[];
}

/** A page of its own, in a browser profile of its own. */
export async function openPage(
  browser: Browser,
  url: string,
  options: Parameters<Browser['newContext']>[0] = {},
): Promise<OpenedPage> {
  const context = await browser.newContext({
    locale: 'en-GB',
    viewport: { width: 1280, height: 800 },
    ...options,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  const complaints: string[] = [];
  const { origin } = new URL(url);
  page.on('pageerror', (error) => complaints.push(`error: ${error.message}`));
  page.on('console', (message) => {
    const text = message.text();
    // A server that is gone or refuses is told by the browser itself.
    if (message.type() === 'error' && !/Failed to load resource/.test(text)) complaints.push(text);
  });
  page.on('request', (request) => {
    const at = request.url();
    if (!at.startsWith(origin) && !/^(?:data|blob):/.test(at)) complaints.push(`request: ${at}`);
  });
  page.on('dialog', (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  await page.goto(url);
  return { page, context, complaints, [Symbol.asyncDispose]: () => context.close() };
}
