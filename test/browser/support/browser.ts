import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { ensureWeb } from '../../../scripts/build-web.ts';
import { findChromium } from './chromium.ts';

// Before any test: a server reads the files of the page when it starts.
await ensureWeb();

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  // Containers often have 64 MB of it.
  '--disable-dev-shm-usage',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
  // A turn of the wheel is one step: a place that is read is where it stays.
  '--disable-smooth-scrolling',
];

/** The Chromium of this machine. There is no skipping: a page that was never opened is not tested. */
export async function openBrowser(): Promise<Browser> {
  const executablePath = findChromium();
  if (executablePath === undefined)
    throw new Error(
      'No Chromium on the PATH: the browser tests need one (apt-get install chromium-headless-shell).',
    );
  return chromium.launch({ executablePath, args: FLAGS });
}

export interface OpenedPage extends AsyncDisposable {
  readonly page: Page;
  readonly context: BrowserContext;
  /** What the page complained about: errors, refused scripts, and requests to anywhere but its server. */
  readonly complaints: readonly string[];
}

/** One for all tests of a worker process, which ends it when it exits. */
let browser: Promise<Browser> | undefined;
/** Profiles cost more than pages, so the next page uses an idle one. Each server is a separate origin. */
const idle: BrowserContext[] = [];

/** A page in a browser profile that no other open page uses. */
export async function openPage(
  url: string,
  options?: Parameters<Browser['newContext']>[0],
): Promise<OpenedPage> {
  browser ??= openBrowser();
  const reused = options === undefined ? idle.pop() : undefined;
  const context = reused ?? (await (await browser).newContext({ ...DEFAULTS, ...options }));
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  const complaints: string[] = [];
  const { origin } = new URL(url);
  page.on('pageerror', (error) => complaints.push(`error: ${error.message}`));
  page.on('console', (message) => {
    const text = message.text();
    // The browser itself reports a server that is gone or refuses.
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
  const close = async (): Promise<void> => {
    if (options !== undefined) return context.close();
    await page.evaluate(() => localStorage.clear()).catch(() => undefined); // a file or a blank page has none
    await Promise.all([
      context.setOffline(false),
      context.unrouteAll({ behavior: 'ignoreErrors' }),
      ...context.pages().map((open) => open.close()),
    ]);
    idle.push(context);
  };
  return { page, context, complaints, [Symbol.asyncDispose]: close };
}

const DEFAULTS = { locale: 'en-GB', viewport: { width: 1280, height: 800 } };
