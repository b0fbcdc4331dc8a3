// @module-tag long
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openStore } from '../../src/config/open.ts';
import { type Answer, type DriverProcess, startDriver } from '../../testing/crash/driver-process.ts';
import { messageOf, notes, readAll } from '../support/engine/turn-judge.ts';
import { bundledProgram } from '../support/processes/bundled-program.ts';

const script = bundledProgram('turn-driver');
const session = 'agent:main:main';
const env = { REPRISE_PROFILE: 'zeroclaw' };

let home = '';
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'reprise-pairs-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const start = (): Promise<DriverProcess> => startDriver({ store: 'sqlite', home, script, env });
const mayDie = (point: string): void => writeFileSync(join(home, `die-${point}`), '');

function mayLive(): void {
  for (const name of readdirSync(home)) if (name.startsWith('die-')) rmSync(join(home, name));
}

/** The same key each time: sent again, it is the same message. */
async function send(driver: DriverProcess, text: string): Promise<Answer> {
  return await driver.send({ op: 'send', session, text, key: text });
}

async function ask(driver: DriverProcess, text: string): Promise<Answer> {
  const { inboxId } = await send(driver, text);
  return await driver.send({ op: 'end', inboxId: String(inboxId) });
}

/** Says something first, then sends a message that kills its process. */
async function dieOf(text: string, point: string): Promise<void> {
  await using driver = await start();
  expect(await ask(driver, 'm0')).toMatchObject({ inbox: { status: 'done' } });
  mayDie(point);
  await send(driver, text);
  expect(await driver.exited).toMatchObject({ signal: 'SIGKILL' });
}

async function startToDie(): Promise<void> {
  await using driver = await start().catch(() => undefined);
  if (driver !== undefined) expect(await driver.exited).toMatchObject({ signal: 'SIGKILL' });
}

/** What is stored of the conversation, one `role: text` a message. */
async function stored(): Promise<string[]> {
  await using store = await openStore({ kind: 'sqlite', home });
  const record = await store.active(session);
  const entries = await readAll(store, record?.id ?? '');
  return entries.flatMap((entry) => {
    const { role, content } = messageOf(entry);
    if (role === undefined) return [];
    const texts =
      typeof content === 'string' ? [content] : (content as { text?: string }[]).map(({ text }) => text);
    return [`${String(role)}: ${texts.join('')}`];
  });
}

const FIRST = ['user: m0', 'assistant: answer 0 to m0'];

describe('a process that is killed in a turn that is written at its end', () => {
  test.each([
    ['while the model answers', 'deadly', 'in-model', 'answer 0 to deadly'],
    ['in a safe tool', 'm1 | safe', 'in-safe', 'answer 1 to m1'],
  ])('%s leaves no half of it, and the next answers it once', async (_, text, point, answer) => {
    await dieOf(text, point);
    expect(await stored()).toEqual(FIRST);
    mayLive();
    {
      await using next = await start();
      expect(await ask(next, text)).toMatchObject({ ends: [{ type: 'done', text: answer }] });
    }
    expect(await stored()).toEqual([...FIRST, `user: ${text}`, `assistant: ${answer}`]);
    expect(notes(home, 'complaints')).toEqual([]);
  });

  test('in a tool with side effects does not run it again, informs its sender, and continues', async () => {
    const text = 'm1 | safe unsafe';
    await dieOf(text, 'in-unsafe');
    expect(await stored()).toEqual(FIRST);
    mayLive();
    {
      await using next = await start();
      expect(await ask(next, text)).toMatchObject({
        ends: [{ type: 'error', code: 'ABORTED', details: { reason: 'interrupted' } }],
        inbox: { status: 'interrupted' },
      });
      expect(await ask(next, 'm2')).toMatchObject({ inbox: { status: 'done' } });
    }
    expect((await stored()).slice(2, 4)).toEqual([`user: ${text}`, 'user: m2']);
    expect(notes<{ name: string }>(home, 'tools').filter(({ name }) => name === 'unsafe')).toHaveLength(1);
    expect(notes(home, 'complaints')).toEqual([]);
  });

  test('with the pair stored: its row ends in the same step, and it is not answered again', async () => {
    await dieOf('m1 | safe', 'after-end');
    mayLive();
    {
      await using next = await start();
      expect(await ask(next, 'm1 | safe')).toMatchObject({
        ends: [{ type: 'done', text: 'answer 1 to m1' }],
      });
    }
    expect(await stored()).toEqual([...FIRST, 'user: m1 | safe', 'assistant: answer 1 to m1']);
    expect(notes<{ name: string }>(home, 'requests').filter(({ name }) => name === 'm1')).toHaveLength(2);
  });

  test('each time is given up after three attempts; what was asked stays, for the next message', async () => {
    await dieOf('deadly', 'in-model');
    for (let attempt = 2; attempt <= 3; attempt++) await startToDie();
    {
      await using last = await start();
      expect(await ask(last, 'deadly')).toMatchObject({
        ends: [{ type: 'error', details: { reason: 'crash-loop' } }],
        inbox: { status: 'failed' },
      });
    }
    expect(await stored()).toEqual([...FIRST, 'user: deadly']);
  });
});
