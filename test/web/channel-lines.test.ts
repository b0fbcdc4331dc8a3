import { createClient } from 'reprise/client';
import { expect, test } from 'vitest';
import { channelLines } from '../../web/src/admin/channels/channel-lines.ts';
import { scripted } from '../support/engine/engine.ts';
import { openServer, TOKEN } from '../support/server/server.ts';

test('an exported channel has every line once, in order, however many there are, and no line of another', async () => {
  await using at = await openServer(scripted([]));
  const { store } = at.reprise;
  await store.create({ id: 's', key: 'agent:main:slack:group:7' });
  const chat = { agentId: 'main', channelType: 'slack', channelId: '7' };
  const said = Array.from({ length: 2100 }, (_, i) => `words ${i}\nand more`);
  const log = said.map((content) => ({ ...chat, role: 'user' as const, content }));
  const other = { ...chat, channelType: 'telegram', role: 'user' as const, content: 'elsewhere' };
  const message = { type: 'message', message: { role: 'user', content: 'hi' } };
  await store.append('s', [message], { log: [other] });
  for (const from of [0, 700, 1400]) await store.append('s', [message], { log: log.slice(from, from + 700) });
  const lines = await channelLines(createClient({ url: at.url, token: TOKEN }), chat);
  expect(lines.every((line) => line.indexOf('\n') === line.length - 1)).toBe(true);
  expect(lines.map((line) => JSON.parse(line).content)).toEqual(said);
});
