// @module-tag long
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openReprise } from '../../src/config/open-reprise.ts';
import type { Reprise } from '../../src/engine/reprise.ts';
import type { Session } from '../../src/engine/session.ts';
import { type Answer, type DriverProcess, startDriver } from '../../testing/crash/driver-process.ts';
import { judgeTurns, notes, type SentMessage } from '../support/engine/turn-judge.ts';
import { createPlannedModel, plannedTools } from '../support/engine/turn-model.ts';
import { bundledProgram } from '../support/processes/bundled-program.ts';

const script = bundledProgram('turn-driver');
const session = 'agent:main:main';

let home = '';
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'reprise-two-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const letGo = (): void => writeFileSync(join(home, 'go'), '');

async function send(driver: DriverProcess, text: string): Promise<SentMessage & { inboxId: string }> {
  const receipt = await driver.send({ op: 'send', session, text, key: text });
  expect(receipt).toMatchObject({ ok: true });
  const { inboxId, sessionId } = receipt as unknown as { inboxId: string; sessionId: string };
  return { key: text, session, text, inboxId, sessionId };
}

const end = (driver: DriverProcess, { inboxId }: SentMessage): Promise<Answer> =>
  driver.send({ op: 'end', inboxId });

async function until(isSo: () => boolean, what: string): Promise<void> {
  for (const deadline = performance.now() + 60_000; !isSo(); ) {
    if (performance.now() > deadline) throw new Error(`waited in vain until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

const asked = (name: string): number =>
  notes<{ name: string }>(home, 'requests').filter((request) => request.name === name).length;

const isAsked = (name: string): boolean => asked(name) > 0;

for (const store of ['jsonl', 'sqlite'] as const) {
  const run = (sql: string): void => {
    using db = new DatabaseSync(join(home, store === 'jsonl' ? 'control.db' : 'store.db'), {
      timeout: 10_000,
    });
    db.exec(sql);
  };
  /** What a holder that was away for too long comes back to: its lease is gone, and its next heartbeat is to come. */
  const loseLeases = (): void => run('DELETE FROM leases');
  /** Silence alone frees none while a test lasts. */
  const stretchLeases = (): void => run('UPDATE leases SET ttl_ms = 3600000');
  const start = (env = {}): Promise<DriverProcess> => startDriver({ store, home, script, env });
  const judge = (messages: readonly SentMessage[]): Promise<string[]> =>
    judgeTurns({ home, store, judged: new Map() }, messages);

  describe(`two processes on one ${store} home`, () => {
    test('a message sent to the second is answered by the first, which is in a turn, and both hear the same', async () => {
      await using a = await start();
      await using b = await start();
      const first = await send(a, 'm1 | wait safe | unsafe');
      await until(() => isAsked('m1'), 'the first is in its turn');
      const second = await send(b, 'm2 | unsafe');
      letGo();
      const [one, two] = await Promise.all([end(a, first), end(b, second)]);
      expect(one).toMatchObject({ ends: [{ type: 'done', text: 'answer 2 to m1' }] });
      expect(two).toMatchObject({ ends: [{ type: 'done', text: 'answer 1 to m2' }] });
      // Asked of the holder, the same message has the same end, to the last field.
      const again = await end(a, await send(a, second.text));
      expect(again['ends']).toEqual(two['ends']);
      const pids = new Set(notes<{ pid: number }>(home, 'requests').map(({ pid }) => pid));
      expect([...pids]).toEqual([a.pid]);
      for (const driver of [a, b]) expect(await driver.stop()).toMatchObject({ code: 0, stderr: '' });
      expect(await judge([first, second])).toEqual([]);
    });

    test.each([
      ['a process that runs whatever waits', {}],
      ['a process that runs only what it was sent', { REPRISE_RUN: 'false' }],
    ])(
      'when the first is killed in its turn, %s takes over, however long its lease would last',
      async (_, env) => {
        await using a = await start();
        await using b = await start(env);
        const first = await send(a, 'm1 | safe | wait safe');
        await until(() => isAsked('m1'), 'the first is in its turn');
        const second = await send(b, 'm2 | unsafe');
        // At rest: it has asked for the lease, and another process holds it.
        expect(await b.send({ op: 'idle' })).toMatchObject({ ok: true });
        stretchLeases();
        a.kill();
        await a.exited;
        letGo();
        expect(await end(b, second)).toMatchObject({ ends: [{ type: 'done', text: 'answer 1 to m2' }] });
        const retried = await end(b, await send(b, first.text));
        expect(retried).toMatchObject({ ends: [{ type: 'done', text: 'answer 2 to m1' }] });
        expect(await b.stop()).toMatchObject({ code: 0, stderr: '' });
        expect(await judge([first, second])).toEqual([]);
      },
    );
  });

  describe(`two engines of one process on one ${store} home`, () => {
    const open = (): Promise<Reprise> =>
      openReprise({
        home,
        store,
        model: createPlannedModel(home),
        tools: plannedTools(home),
        durability: 'os',
        session: { queue: { mode: 'queue' } },
      });

    test('answer each other’s messages in order, and either may be closed first', async () => {
      const a = await open();
      await using b = await open();
      // Neither was first: two callers that ask at once for a session that does not exist yet get the same one.
      const asked = [a, b, a, b].map((engine) => engine.session(session));
      const [one, other, ...more] = (await Promise.all(asked)) as [Session, Session, ...Session[]];
      for (const { id } of [other, ...more]) expect(id).toBe(one.id);
      const first = one.send('m1 | wait safe');
      await until(() => isAsked('m1'), 'the first is in its turn');
      const second = other.send('m2 | unsafe');
      await second.accepted;
      letGo();
      const results = await Promise.all([first.result, second.result]);
      expect(results.map(({ text }) => text)).toEqual(['answer 1 to m1', 'answer 1 to m2']);
      const later = ['m3', 'm4', 'm5', 'm6'].map((text, i) => (i % 2 === 0 ? one : other).send(text));
      await Promise.all(later.map(({ result }) => result));
      await a[Symbol.asyncDispose]();
      expect((await other.send('m7').result).text).toBe('answer 0 to m7');
      const said = (await other.history({ limit: 1000 })).entries.map(({ entry }) => JSON.stringify(entry));
      for (let i = 1; i <= 7; i++)
        expect(said.filter((line) => line.includes(`"content":"m${i}`))).toHaveLength(1);
    });

    test('a message that another engine runs can be stopped', async () => {
      await using a = await open();
      await using b = await open();
      const first = (await a.session(session)).send('m1 | wait safe | safe');
      await until(() => isAsked('m1'), 'the first is in its turn');
      const { inboxId } = await first.accepted;
      const stop = new AbortController();
      const again = (await b.session(session)).send('m2 | safe', { signal: stop.signal });
      await again.accepted;
      stop.abort();
      await expect(again.result).rejects.toMatchObject({ code: 'ABORTED' });
      await b.store.inbox.settle(inboxId, 'cancelled', { reason: 'stopped' });
      // In the middle of its call: the stop does not wait for the model.
      await expect(first.result).rejects.toMatchObject({ code: 'ABORTED' });
      letGo();
      await a.idle();
      expect(notes(home, 'tools')).toHaveLength(0);
      expect(isAsked('m2')).toBe(false);
    });

    test('a holder that lost the session without knowing it leaves the end to the present holder', async () => {
      await using a = await open();
      await using b = await open();
      const first = (await a.session(session)).send('m1 | wait safe | unsafe');
      await until(() => isAsked('m1'), 'the first is in its turn');
      loseLeases();
      const second = (await b.session(session)).send('m2');
      await until(() => asked('m1') === 2, 'the second has taken over');
      letGo();
      expect((await first.result).text).toBe('answer 2 to m1');
      expect((await second.result).text).toBe('answer 0 to m2');
      expect(notes<{ name: string }>(home, 'tools').filter(({ name }) => name === 'unsafe')).toHaveLength(1);
      const { inboxId, sessionId } = await first.accepted;
      await Promise.all([a.idle(), b.idle()]);
      const message: SentMessage = {
        key: 'm1',
        session,
        text: 'm1 | wait safe | unsafe',
        inboxId,
        sessionId,
      };
      expect(await judge([message])).toEqual([]);
      expect(message.state).toBe('done');
    });

    test('an engine that is closed fails callers that wait for another engine’s answer, and the message stays', async () => {
      await using a = await open();
      const b = await open();
      const first = (await a.session(session)).send('m1 | wait safe');
      await until(() => isAsked('m1'), 'the first is in its turn');
      const other = await b.session(session);
      const second = other.send('m2');
      const { inboxId } = await second.accepted;
      await b[Symbol.asyncDispose]();
      await expect(second.result).rejects.toMatchObject({ code: 'STORE_FAILED', outcome: 'unknown' });
      await expect(other.send('m3').result).rejects.toMatchObject({ code: 'STORE_FAILED', outcome: 'none' });
      letGo();
      await first.result;
      await a.idle();
      expect(await a.inbox(inboxId)).toMatchObject({ status: 'done', reply: { text: 'answer 0 to m2' } });
    });
  });
}
