import { expect, test } from 'vitest';
import { COMMANDS, parseCommand, unknownCommand } from '../../src/engine/commands/commands.ts';
import { runCommand } from '../../src/engine/commands/run-command.ts';
import { ERROR_TABLE, type ErrorCode, RepriseError } from '../../src/errors.ts';
import { ENGLISH, messagesText } from '../../src/messages/english.ts';
import { failedMessage, type Message, type MessageTable, textOf } from '../../src/messages/message.ts';
import { CHINESE } from '../../web/src/i18n/messages-zh.ts';
import { openEngine, scripted } from '../support/engine/engine.ts';
import { SAMPLES } from '../support/message-samples.ts';

const OFFERED = COMMANDS.filter(({ surfaces }) => surfaces.includes('web'));
const HAN = /\p{Script=Han}/u;
const NO_TEXT = /undefined|null|NaN|\[object/;

test.each(Object.keys(SAMPLES))('%s has an English and a Chinese text', (code) => {
  const sample = { code, params: SAMPLES[code as keyof typeof SAMPLES] };
  const english = textOf(ENGLISH, sample) ?? '';
  const chinese = textOf(CHINESE, sample) ?? '';
  expect(english).toMatch(/\w/);
  expect(chinese).toMatch(HAN);
  expect(`${english}${chinese}`).not.toMatch(NO_TEXT);
});

test('the tables have the same codes, and each of them has a sample', () => {
  const codes = Object.keys(SAMPLES).sort();
  expect(Object.keys(ENGLISH).sort()).toEqual(codes);
  expect(Object.keys(CHINESE).sort()).toEqual(codes);
});

test('every command of the page and every kind of error has a text in both languages', () => {
  for (const { name: about } of OFFERED) {
    const help: Message = { code: 'help.about', params: { about } };
    expect(textOf(ENGLISH, help), about).toMatch(/\w/);
    expect(textOf(CHINESE, help), about).toMatch(HAN);
  }
  for (const code of Object.keys(ERROR_TABLE) as ErrorCode[])
    expect(textOf(CHINESE, failedMessage(new RepriseError(code, 'it broke'))), code).toMatch(HAN);
});

test('a code of a newer server is left to the text of that server', () => {
  expect(textOf(ENGLISH, { code: 'moon.full', params: {} })).toBeUndefined();
  expect(textOf(ENGLISH, { code: 'explain.call', params: {} })).toBeUndefined();
  expect(textOf(ENGLISH, { code: 'toString', params: {} })).toBeUndefined();
});

test('the answer to every command of the page is made of codes that both languages know', async () => {
  await using opened = await openEngine(scripted(['eins', 'zwei', 'drei', 'vier', 'fünf', 'sechs']), {
    run: true,
  } as never);
  const { reprise, session } = opened;
  const answers: Message[] = [];
  const ran = new Set<string>();
  const run = async (line: string): Promise<void> => {
    const command = parseCommand(line, { surface: 'web' });
    if (command === undefined || !('name' in command)) throw new Error(line);
    ran.add(command.name);
    const context = { reprise, session, surface: 'web' as const, confirm: async () => true };
    const { text, messages, turn } = await runCommand(command, context);
    await turn?.result;
    expect(messages, line).not.toEqual([]);
    expect(text).toBe(messagesText(messages));
    answers.push(...messages);
  };
  const before = ['/history', '/tree', '/pin', '/undo', '/redo', '/compact undo', '/compact --dry-run'];
  for (const line of [...before, '/search nichts', '/retry', '/explain']) await run(line);
  await session.send('Frage').result;
  const looks = ['/context', '/status', '/explain', '/history', '/tree', '/pin last', '/unpin all'];
  for (const line of [...looks, '/unpin #1', '/unpin #9', '/explain 9', '/history x', '/compact'])
    await run(line);
  const steps = ['/retry', '/edit anders', '/edit', '/stop', '/undo', '/redo', '/rename Name', '/rename'];
  for (const line of [...steps, '/model', '/model x', '/queue', '/queue collect', '/queue nonsense'])
    await run(line);
  const lists = [
    '/help',
    '/help new',
    '/help quit',
    '/sessions',
    '/sessions nichts',
    '/search Frage',
    '/search',
  ];
  for (const line of [...lists, '/switch 1', '/switch nichts', '/repair', '/fork #1', '/fork #9', '/fork'])
    await run(line);
  for (const line of ['/new neu', '/export', '/quit', '/delete']) await run(line);
  answers.push(unknownCommand({ unknown: 'x' }));
  expect(OFFERED.map(({ name }) => name).filter((name) => !ran.has(name))).toEqual([]);
  expect(answers.filter(({ code }) => code === 'failed')).toEqual([]);
  const texts = (table: MessageTable): (string | undefined)[] =>
    answers.filter(({ code }) => code !== 'text').map((message) => textOf(table, message));
  for (const text of texts(ENGLISH)) expect(text).not.toMatch(HAN);
  // A tree shows nothing but what people sent.
  for (const text of texts(CHINESE)) expect(text).toMatch(/\p{Script=Han}|^[* ] .*(?:Frage|anders)$/u);
});
