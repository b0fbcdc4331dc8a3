import { expect, test } from 'vitest';
import { Conversation } from '../../web/src/conversation/conversation.ts';
import { runCommand } from '../../web/src/conversation/steps.ts';
import { pacedModel } from '../support/engine/paced-model.ts';
import { openServer } from '../support/server/server.ts';
import { inTab, standOn } from './support/stand-on.ts';

inTab();

test('a message that a command repeats or edits is shown in its new words until the history has it', async () => {
  const model = pacedModel(['one']);
  await using at = await openServer(model);
  using _held = { [Symbol.dispose]: () => model.allow(100) };
  model.allow(1);
  await (await at.chat({ message: 'first', sessionId: 's' })).text();
  standOn(at);
  const session = new Conversation('main', 's');
  await session.open();
  const said = (): string[] => session.pending.value.map(({ text }) => text);
  expect(await runCommand(session, '/retry')).toBe(true);
  expect(said()).toEqual(['first']);
  model.allow(1);
  await expect.poll(said).toEqual([]);
  expect(await runCommand(session, '/edit in other\nwords')).toBe(true);
  expect(said()).toEqual(['in other\nwords']);
  model.allow(1);
  await expect.poll(said).toEqual([]);
  session.close();
});
