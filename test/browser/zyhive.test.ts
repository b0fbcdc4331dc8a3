import { expect, test } from 'vitest';
import { createOfflineModel } from '../../src/models/offline/offline-model.ts';
import { openServer, TOKEN } from '../support/server/server.ts';
import { ZyhiveFrontEnd } from '../support/server/zyhive-front-end.ts';
import { openPage } from './support/browser.ts';

test('the page works at a server with profile zyhive, beside a front end of ZyHive', async () => {
  await using at = await openServer(createOfflineModel(), { profile: 'zyhive' });
  const ui = new ZyhiveFrontEnd(at.url, TOKEN, 'main');
  const { done } = await ui.chat('said in the other front end');
  await using opened = await openPage(`${at.url}/#token=${TOKEN}`);
  const { page, complaints } = opened;
  await page.locator('.session').getByText('said in the other front end').click();
  await page.locator('.message.user .said').getByText('said in the other front end').waitFor();
  await page.getByLabel('Message', { exact: true }).fill('said on the page');
  await page.keyboard.press('Enter');
  await page.locator('.message.user .said').getByText('said on the page').waitFor();
  await page.locator('.answer:not(.live)').nth(1).waitFor();
  await page.reload();
  await page.locator('.message.user .said').getByText('said on the page').waitFor();
  const messages = await ui.messages(String(done.sessionId));
  expect(messages.filter(({ role }) => role === 'user').map(({ text }) => text)).toEqual([
    'said in the other front end',
    'said on the page',
  ]);
  expect(complaints).toEqual([]);
});
