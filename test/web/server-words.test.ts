import { expect, test } from 'vitest';
import { COMMANDS, parseCommand, unknownCommandText } from '../../src/engine/commands.ts';
import { runCommand } from '../../src/engine/run-command.ts';
import { ERROR_TABLE } from '../../src/errors.ts';
import { noteInChinese } from '../../web/src/strings-zh-notes.ts';
import { ZH_TOLD } from '../../web/src/strings-zh-told.ts';
import { openEngine, scripted } from '../support/engine.ts';

const OFFERED = COMMANDS.filter(({ surfaces }) => surfaces.includes('web'));

test('every code and every command has Chinese words, and none has that is not there any more', () => {
  const names = [...Object.keys(ERROR_TABLE), ...OFFERED.map(({ name }) => `/${name}`)];
  const known = Object.keys(ZH_TOLD).filter((name) => /^[A-Z/]/.test(name));
  expect(known.sort()).toEqual(names.sort());
});

test('what commands answer is said in Chinese on a Chinese page', async () => {
  await using opened = await openEngine(scripted(['eins', 'zwei', 'drei', 'vier', 'fünf', 'sechs']), {
    run: true,
  } as never);
  const { reprise, session } = opened;
  const answers: string[] = [];
  const run = async (line: string): Promise<void> => {
    const command = parseCommand(line, { surface: 'web' });
    if (command === undefined || !('name' in command)) throw new Error(line);
    const context = { reprise, session, surface: 'web' as const, confirm: async () => true };
    const { text, turn } = await runCommand(command, context);
    await turn?.result;
    answers.push(...text.split('\n'));
  };
  for (const line of ['/history', '/pin', '/undo', '/redo', '/compact undo', '/search nichts'])
    await run(line);
  await session.send('Frage').result;
  for (const line of ['/context', '/status', '/explain', '/history', '/pin last', '/unpin all', '/compact'])
    await run(line);
  for (const line of [
    '/retry',
    '/edit anders',
    '/stop',
    '/undo',
    '/redo',
    '/rename Name',
    '/model',
    '/queue',
  ])
    await run(line);
  for (const line of [
    '/help',
    '/sessions',
    '/sessions nichts',
    '/search Frage',
    '/repair',
    '/fork',
    '/new neu',
  ])
    await run(line);
  await run('/delete');
  answers.push(
    unknownCommandText({ unknown: 'fo', suggestion: 'fork' }),
    unknownCommandText({ unknown: 'x' }),
  );
  // What is left is what people said and called things.
  const left = answers.map(noteInChinese).filter((told, i) => told === answers[i]);
  expect(left.filter((line) => !/Frage|eins|Name|^\[-+\]/.test(line))).toEqual([]);
});

test('a turn is called by its id, and why something cannot be said again or read is told in Chinese too', () => {
  expect(noteInChinese('Turn 0198-ab: done, 2 requests for 3 messages.')).toBe(
    '轮次 0198-ab：完成，3 条消息，2 次请求。',
  );
  expect(noteInChinese('   #4 from Ada on telegram: inbox 0198-cd, merged')).toBe(
    '   #4 · Ada · telegram：收件箱 0198-cd，已合并',
  );
  for (const code of ['LEAF_MOVED', 'STORE_CORRUPT']) expect(ZH_TOLD[code]).toMatch(/：\{\}$/);
});
