/** `npm run screenshots`: takes the pictures of docs/web.md from the home that `reprise demo` creates. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { openReprise } from '../src/config/open-reprise.ts';
import { serve } from '../src/server/serve.ts';
import { openBrowser } from '../test/browser/support/browser.ts';

const TOKEN = 'a-token-for-pictures-that-is-long-enough';
const QUIET = { info: () => undefined, warn: () => undefined, error: () => undefined };
const MAX_BYTES = 150_000;
const root = fileURLToPath(new URL('..', import.meta.url));
const folder = join(root, 'docs/images');
const WIDE: BrowserContextOptions = { viewport: { width: 1200, height: 720 }, colorScheme: 'light' };
const PHONE: BrowserContextOptions = {
  viewport: { width: 390, height: 780 },
  deviceScaleFactor: 1.5,
  isMobile: true,
  colorScheme: 'dark',
};

interface Picture {
  readonly name: string;
  readonly look: BrowserContextOptions;
  readonly show: (page: Page) => Promise<void>;
}

const openSession = async (page: Page, name: string): Promise<void> => {
  await page.locator('.session').getByText(name, { exact: true }).click();
  await page.locator('.answer').last().waitFor();
  // The bar at the top has come too.
  await page.locator('.context').waitFor();
};

const PICTURES: readonly Picture[] = [
  {
    name: 'web-chat',
    look: WIDE,
    show: async (page) => {
      await openSession(page, 'Garden house');
      const toTop = `document.querySelector('.messages').scrollTop = 0`;
      // Rows above the first picture are measured as they come into sight.
      while (!(await page.locator('.fold').isVisible())) await page.evaluate(toTop);
      await page.locator('.fold').getByRole('button', { name: 'Summary' }).click();
      await page.locator('.fold .opened').waitFor();
      await page.evaluate(`${toTop}; document.activeElement.blur()`);
      await page.waitForFunction(`document.querySelector('.messages').scrollTop === 0`);
    },
  },
  {
    name: 'web-chats',
    look: WIDE,
    show: async (page) => {
      await page.getByRole('link', { name: 'Channels' }).click();
      await page.getByRole('tab', { name: 'Sessions' }).click();
      await page.locator('.admin-table tbody tr').first().waitFor();
    },
  },
  {
    name: 'web-statistics',
    look: WIDE,
    show: async (page) => {
      await page.getByRole('link', { name: 'Statistics' }).click();
      await page.locator('.charts .bars li').first().waitFor();
      await page.locator('.charts tbody tr').first().waitFor();
    },
  },
  {
    name: 'web-phone-dark',
    look: PHONE,
    show: async (page) => {
      await page.getByRole('button', { name: 'Show sessions' }).tap();
      await openSession(page, 'Orders counted twice');
      await page.locator('details.tool summary').first().tap();
    },
  },
];

async function take(browser: Browser, url: string, { name, look, show }: Picture): Promise<void> {
  const context = await browser.newContext({
    locale: 'en-GB',
    reducedMotion: 'reduce',
    hasTouch: true,
    ...look,
  });
  const page = await context.newPage();
  await page.goto(`${url}/#token=${TOKEN}`);
  await page.locator('.session').first().waitFor({ state: 'attached' });
  await show(page);
  const path = join(folder, `${name}.png`);
  await page.screenshot({ path, animations: 'disabled' });
  await context.close();
  const { size } = statSync(path);
  if (size > MAX_BYTES) throw new Error(`${name}.png has ${size} bytes`);
  console.log(`${name}.png ${Math.round(size / 1000)} kB`);
}

const home = mkdtempSync(join(tmpdir(), 'reprise-pictures-'));
try {
  mkdirSync(folder, { recursive: true });
  execFileSync(process.execPath, [join(root, 'bin/reprise.cjs'), 'demo', '--home', home], {
    stdio: 'ignore',
  });
  await using reprise = await openReprise({ home, model: 'offline' });
  const served = await serve({ reprise, config: { port: 0, token: TOKEN }, logger: QUIET });
  const browser = await openBrowser();
  try {
    for (const picture of PICTURES) await take(browser, served.url, picture);
  } finally {
    await browser.close();
    await served.close();
  }
} finally {
  rmSync(home, { recursive: true, force: true });
}
