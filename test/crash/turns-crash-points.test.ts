// @module-tag long
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openStore } from '../../src/config/open.ts';
import { project } from '../../src/exports/transcript.ts';
import type { Entry } from '../../src/index.ts';
import { type Answer, type DriverProcess, startDriver } from '../../testing/crash/driver-process.ts';
import { REQUEST_KINDS, request } from '../support/engine/requests.ts';
import { judgeTurns, messageOf, notes, readAll, type SentMessage } from '../support/engine/turn-judge.ts';
import { bundledProgram } from '../support/processes/bundled-program.ts';

const script = bundledProgram('turn-driver');
const session = 'agent:main:main';
const target = { family: 'anthropic', provider: 'planned', model: 'planned' } as const;

let home = '';
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'reprise-points-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const start = (): Promise<DriverProcess> => startDriver({ store: 'jsonl', home, script });
const mayDie = (point: string): void => writeFileSync(join(home, `die-${point}`), '');

function mayLive(): void {
  for (const name of readdirSync(home)) if (name.startsWith('die-')) rmSync(join(home, name));
}

async function send(driver: DriverProcess, text: string): Promise<SentMessage> {
  const message: SentMessage = { key: text, session, text };
  const receipt = await driver.send({ op: 'send', session, text, key: text });
  if (!receipt.ok) return message;
  return { ...message, inboxId: String(receipt['inboxId']), sessionId: String(receipt['sessionId']) };
}

async function ask(driver: DriverProcess, text: string): Promise<Answer> {
  const { inboxId } = await send(driver, text);
  return await driver.send({ op: 'end', inboxId });
}

/** Sends a message that kills its process, and waits until it has. */
async function askToDie(driver: DriverProcess, text: string): Promise<SentMessage> {
  const message = await send(driver, text);
  expect(message.inboxId).toBeDefined();
  expect(await driver.exited).toMatchObject({ signal: 'SIGKILL' });
  return message;
}

/** A process that opens the home runs pending messages by itself, perhaps before it reports that it is open. */
async function startToDie(): Promise<void> {
  await using driver = await start().catch(() => undefined);
  if (driver !== undefined) expect(await driver.exited).toMatchObject({ signal: 'SIGKILL' });
}

async function stored({ sessionId = '' }: SentMessage): Promise<Entry[]> {
  await using store = await openStore({ kind: 'jsonl', home });
  return await readAll(store, sessionId);
}

const judge = (messages: readonly SentMessage[]): Promise<string[]> =>
  judgeTurns({ home, store: 'jsonl', judged: new Map() }, messages);

describe('T42 a process that dies inside a tool', () => {
  test('leaves a call that every provider gets with one error result', async () => {
    mayDie('in-unsafe');
    await using first = await start();
    const message = await askToDie(first, 'm1 | safe unsafe');
    const left = await stored(message);
    expect(messageOf(left.at(-1))).toMatchObject({ role: 'assistant', stopReason: 'toolUse' });
    for (const kind of REQUEST_KINDS) {
      const messages = request(left, kind);
      expect(kind.validate(messages), kind.name).toEqual([]);
      expect(JSON.stringify(messages).match(/call_?m1_?0_?1/g)?.length ?? 2, kind.name).toBe(2);
    }
  });

  test('is interrupted when the tool was not safe: it is not run again, and the next message runs', async () => {
    mayDie('in-unsafe');
    await using first = await start();
    const message = await askToDie(first, 'm1 | safe unsafe');
    mayLive();
    await using second = await start();
    expect(await ask(second, message.text)).toMatchObject({
      ends: [{ type: 'error', code: 'ABORTED', details: { reason: 'interrupted' } }],
      inbox: { status: 'interrupted' },
    });
    const next = await send(second, 'm2');
    expect(await second.send({ op: 'end', inboxId: next.inboxId })).toMatchObject({
      ends: [{ type: 'done', text: 'answer 0 to m2' }],
    });
    const entries = await stored(message);
    const results = entries.filter((entry) => messageOf(entry)['role'] === 'toolResult').map(messageOf);
    expect(results).toMatchObject([
      { toolCallId: 'call_m1_0_0', isError: true },
      { toolCallId: 'call_m1_0_1', isError: true },
    ]);
    expect(JSON.stringify(results)).toContain('Interrupted');
    expect(notes<{ id: string }>(home, 'tools').filter(({ id }) => id === 'call_m1_0_1')).toHaveLength(1);
    expect(await judge([message, next])).toEqual([]);
  });

  test('continues by itself when every tool was safe', async () => {
    mayDie('in-safe');
    await using first = await start();
    const message = await askToDie(first, 'm1 | safe safe');
    mayLive();
    await using second = await start();
    expect(await ask(second, message.text)).toMatchObject({
      ends: [{ type: 'done', text: 'answer 1 to m1' }],
      inbox: { status: 'done' },
    });
    expect(await judge([message])).toEqual([]);
  });
});

test('T57 a message whose model died in the call is there after the restart, once, and is answered', async () => {
  mayDie('in-model');
  await using first = await start();
  const message = await askToDie(first, 'deadly');
  const said = (await stored(message)).filter((entry) => messageOf(entry)['role'] === 'user');
  expect(said.map((entry) => messageOf(entry)['content'])).toEqual(['deadly']);
  mayLive();
  await using second = await start();
  expect(await ask(second, 'deadly')).toMatchObject({ inbox: { status: 'done' } });
  expect(await judge([message])).toEqual([]);
});

describe('a message that kills its process each time', () => {
  test.each([
    ['in the model', 'deadly', 'in-model'],
    ['in safe tools', 'm1 | safe | safe | safe | safe', 'in-safe'],
  ])('%s is given up after three attempts, and the session goes on', async (_, text, point) => {
    mayDie(point);
    await using first = await start();
    const message = await askToDie(first, text);
    for (let attempt = 2; attempt <= 3; attempt++) await startToDie();
    await using last = await start();
    expect(await ask(last, text)).toMatchObject({
      ends: [{ type: 'error', code: 'MODEL_FAILED', details: { reason: 'crash-loop' } }],
      inbox: { status: 'failed' },
    });
    const asked = notes<{ name: string }>(home, 'requests').length;
    expect(asked).toBe(3);
    const next = await send(last, 'm2');
    expect(await last.send({ op: 'end', inboxId: next.inboxId })).toMatchObject({
      inbox: { status: 'done' },
    });
    expect(await judge([message, next])).toEqual([]);
  });
});

test('a turn whose process died when its end was stored has ended, and no process runs it again', async () => {
  mayDie('after-end');
  await using first = await start();
  const message = await askToDie(first, 'm1 | safe');
  mayLive();
  await using last = await start();
  expect(await ask(last, message.text)).toMatchObject({
    ends: [{ type: 'done', text: 'answer 1 to m1' }],
    inbox: { status: 'done' },
  });
  expect(notes(home, 'requests')).toHaveLength(2);
  expect(await judge([message])).toEqual([]);
});

describe('T48 a process that dies in a compaction', () => {
  test.each([
    ['before the summary', 'before-summary', 'old'],
    ['in the middle of the summary', 'during-summary', 'old'],
    ['with the summary made and not written', 'before-append', 'old'],
    ['with the summary written and not told', 'after-append', 'new'],
  ] as const)('%s leaves one view whole, and every original', async (_, point, expected) => {
    await using first = await start();
    const texts = ['m1 | safe', 'm2', 'm3 | unsafe', 'm4', 'm5'].map(
      (text) => `${text} ${'so '.repeat(300)}`,
    );
    const messages: SentMessage[] = [];
    for (const text of texts) {
      messages.push(await send(first, text));
      expect(await first.send({ op: 'end', inboxId: messages.at(-1)?.inboxId })).toMatchObject({ ok: true });
    }
    const [message] = messages as [SentMessage];
    const before = await stored(message);
    const oldView = JSON.stringify(project(before, { target }).messages);
    mayDie(point);
    expect(await first.send({ op: 'compact', session })).toMatchObject({ outcome: 'unknown' });
    await first.exited;

    const after = await stored(message);
    expect(after.slice(0, before.length)).toEqual(before);
    const view = JSON.stringify(project(after, { target }).messages);
    if (expected === 'old') expect(view).toBe(oldView);
    else {
      expect(view).toContain('THE SUMMARY: much was said.');
      expect(view).not.toContain('m1 |');
    }
    await using store = await openStore({ kind: 'jsonl', home });
    const exported = Buffer.from(await store.exportSession(String(message.sessionId))).toString('utf8');
    for (const text of texts) expect(exported).toContain(JSON.stringify(text));

    mayLive();
    await using second = await start();
    const compacted = await second.send({ op: 'compact', session });
    expect(compacted).toMatchObject({ event: expected === 'old' ? { method: 'model' } : null });
    expect(await second.send({ op: 'undo', session })).toMatchObject({ undone: 'compaction' });
    expect(JSON.stringify(project(await stored(message), { target }).messages)).toBe(oldView);
    messages.push(await send(second, 'm6'));
    expect(await second.send({ op: 'end', inboxId: messages.at(-1)?.inboxId })).toMatchObject({
      inbox: { status: 'done' },
    });
    expect(await judge(messages)).toEqual([]);
  });
});
