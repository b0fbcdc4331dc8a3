import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { cliEnv } from '../support/processes/cli-env.ts';
import { Terminal } from '../support/processes/terminal.ts';
import { openPage } from './support/browser.ts';

test('`reprise serve` at a terminal prints a link; it opens the page signed in, and the offline model answers', async () => {
  const home = mkdtempSync(join(tmpdir(), 'reprise-page-'));
  try {
    const command = [process.execPath, 'bin/reprise.cjs', 'serve', '--port', '0', '--home', home];
    await using terminal = new Terminal(command, { env: cliEnv(), columns: 200 });
    // With what follows it: a part of a link leads elsewhere.
    await terminal.until(/Open http\S+#token=\S+\s/);
    expect(terminal.seen).not.toContain('could not be built');
    const [, link = ''] = /Open (http\S+#token=\S+)/.exec(terminal.seen) ?? [];
    await using opened = await openPage(link);
    const { page, complaints } = opened;
    await page.getByLabel('Message', { exact: true }).fill('hello');
    await page.keyboard.press('Enter');
    await page.locator('.answer:not(.live)').getByText('hello').waitFor();
    expect(page.url()).not.toContain('token');
    expect(complaints).toEqual([]);
    terminal.type('\u0003');
    await terminal.exit;
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
});
