import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Answer, type DriverProcess, startDriver } from '../../testing/crash/driver-process.ts';
import { createRandom, type Random } from '../../testing/crash/random.ts';
import { type JudgedHome, judgeTurns, notes, type SentMessage } from '../support/engine/turn-judge.ts';
import { bundledProgram } from '../support/processes/bundled-program.ts';

const ROUNDS = Number(process.env['REPRISE_CRASH_ROUNDS'] ?? 3);
const SEED = Number(process.env['REPRISE_CRASH_SEED'] ?? 7);
const script = bundledProgram('turn-driver');
const SESSIONS = ['agent:main:main', 'agent:main:other'] as const;
const PATIENCE_MS = 60_000;
/** So many messages wait or run at any time. */
const OPEN = 6;

let home = '';
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'reprise-turns-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

function newMessage(number: number, random: Random): SentMessage {
  const rounds = Array.from({ length: random.integer(0, 3) }, () =>
    Array.from({ length: random.integer(1, 3) }, () => random.pick(['safe', 'safe', 'unsafe'])).join(' '),
  );
  const text = [`m${number}`, ...rounds].join(' | ');
  return { key: `k${number}`, session: random.pick(SESSIONS), text };
}

test(
  'processes killed in the middle of turns lose no message, answer none twice and run no tool again',
  async () => {
    const random = createRandom(SEED);
    const messages: SentMessage[] = [];
    const at: JudgedHome = { home, store: 'jsonl', judged: new Map() };
    let retried = 0;
    let inFlight = 0;
    let ended = 0;

    /** Sends until it is accepted and asks how it ended; a message whose process died is sent again by the next. */
    const deliver = async (driver: DriverProcess, message: SentMessage): Promise<void> => {
      const { session, text, key } = message;
      const receipt = await driver.send({ op: 'send', session, text, key });
      if (receipt.outcome === 'unknown') return;
      expect(receipt).toMatchObject({ ok: true });
      if (receipt['fresh'] === false) retried++;
      // The same key is the same message, whichever process hears of it.
      if (message.inboxId !== undefined) expect(receipt).toMatchObject({ inboxId: message.inboxId });
      message.inboxId = String(receipt['inboxId']);
      message.sessionId = String(receipt['sessionId']);
      const answer = await driver.send({ op: 'end', inboxId: message.inboxId });
      if (answer.outcome === 'unknown') return;
      noteEnd(message, answer);
      ended++;
    };

    for (let kills = 0; kills < ROUNDS; kills++) {
      await using driver = await startDriver({ store: 'jsonl', home, script });
      let isOver = false;
      const keepBusy = async (): Promise<void> => {
        const waiting = messages.filter(({ state }) => state === undefined);
        const sender = async (): Promise<void> => {
          while (!isOver) {
            const message = waiting.shift() ?? newMessage(messages.length, random);
            if (!messages.includes(message)) messages.push(message);
            await deliver(driver, message);
          }
        };
        await Promise.all(Array.from({ length: OPEN }, sender));
      };
      const busy = keepBusy();
      // So many that more end well than can be hit: a blow finds at most one in each session.
      const goal = ended + random.integer(2 * SESSIONS.length, 8);
      await expect.poll(() => ended, { interval: 1, timeout: PATIENCE_MS }).toBeGreaterThanOrEqual(goal);
      await sleep(random.integer(0, 40)); // the moment of the blow, nothing is waited for
      isOver = true;
      inFlight += driver.inFlight;
      driver.kill();
      await driver.exited;
      await busy;
      expect(await judgeTurns(at, messages)).toEqual([]);
    }

    await using last = await startDriver({ store: 'jsonl', home, script });
    await Promise.all(
      messages.filter(({ state }) => state === undefined).map((message) => deliver(last, message)),
    );
    expect(await last.send({ op: 'idle' })).toMatchObject({ ok: true });
    expect(await last.stop()).toMatchObject({ code: 0, stderr: '' });
    expect(await judgeTurns(at, messages)).toEqual([]);
    const count = (wanted: string): number => messages.filter(({ state }) => state === wanted).length;
    const [done, interrupted, failed] = ['done', 'interrupted', 'failed'].map(count);
    const tools = notes(home, 'tools').length;
    const requests = notes(home, 'requests').length;
    console.log(
      `seed ${SEED}: ${ROUNDS} kills with ${inFlight} commands in flight, ${messages.length} messages: ${done} done, ` +
        `${interrupted} interrupted, ${failed} given up; ${tools} tool runs, ${requests} requests, ${retried} retried`,
    );
    expect([done, interrupted, failed].reduce((sum = 0, n = 0) => sum + n, 0)).toBe(messages.length);
    expect(done).toBeGreaterThan(messages.length / 2);
    expect(retried).toBeGreaterThan(0);
  },
  60_000 + ROUNDS * 30_000,
);

function noteEnd(message: SentMessage, answer: Answer): void {
  expect(answer).toMatchObject({ ok: true });
  const { ends, inbox } = answer as unknown as {
    ends: { type: string; text?: string; code?: string }[];
    inbox: { status: NonNullable<SentMessage['state']>; reply?: { text: string } };
  };
  expect(ends).toHaveLength(1);
  const [end] = ends;
  expect(end?.type).toBe(inbox.status === 'done' ? 'done' : 'error');
  expect(end?.text).toBe(inbox.reply?.text);
  if (message.state !== undefined) expect(inbox.status).toBe(message.state);
  message.state = inbox.status;
}
