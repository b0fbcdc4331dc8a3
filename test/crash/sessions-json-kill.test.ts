// @module-tag long
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { startDriver } from '../../testing/crash/driver-process.ts';
import {
  type FaultCall,
  type FaultPlan,
  faultShimSupport,
  readFaultLog,
} from '../../testing/crash/fault-shim.ts';
import { must, TestHome, until } from '../support/store/store-faults.ts';

const { supported, reason } = faultShimSupport();
const title = supported
  ? 'sessions.json, at each system call'
  : `sessions.json, at each system call (skipped: ${reason})`;

const EDITED = '{"agent:main:main": {"sessionId": "s1", "title": "edited by hand"}}';

type Index = Record<string, { readonly sessionId: string; readonly title: string }>;

const fileOf = (home: string): string => join(home, 'agents/main/sessions/sessions.json');
const asideOf = (home: string): string => join(home, 'agents/main/sessions.json.edited.1');
const say = (id: string, content: string) => ({
  ...{ op: 'append', id },
  messages: [{ role: 'user', content }],
});

/** A home with one session and its index. */
async function prepare(at: TestHome): Promise<void> {
  const driver = await startDriver(at.options('jsonl'));
  await must(driver, { op: 'create', id: 's1', key: 'agent:main:main' });
  await must(driver, say('s1', 'first'));
  await driver.stop();
}

/** Makes a change, waits until it is in the file and closes the store, or dies on the way. */
async function change(at: TestHome, plan?: Omit<FaultPlan, 'log'>): Promise<void> {
  const driver = await startDriver(at.options('jsonl', plan));
  let isGone = false;
  void driver.exited.then(() => {
    isGone = true;
  });
  await driver.send({ op: 'create', id: 's2', key: 'agent:main:other' });
  await driver.send(say('s2', 'second'));
  await until('the file has it, or the process is gone', () => isGone || has(at.home, 's2'));
  await driver.send(say('s2', 'third'));
  await driver.stop();
}

const halves = (home: string): string[] =>
  readdirSync(join(home, 'agents/main/sessions')).filter((name) => name.endsWith('.tmp'));
const textOf = (home: string): string => readFileSync(fileOf(home), 'utf8');
const idsIn = (text: string): string[] =>
  Object.values(JSON.parse(text) as Index).map(({ sessionId }) => sessionId);
/** An edited file need not be JSON that we wrote. */
const has = (home: string, id: string): boolean => textOf(home).includes(`"sessionId":"${id}"`);

describe.skipIf(!supported)(title, () => {
  test.each([
    ['as Reprise left it', undefined],
    ['edited by hand', EDITED],
  ])(
    'a kill leaves the old file or the new one, where the old one was %s',
    async (_, edit) => {
      const calls: [FaultCall, ...FaultCall[]] = ['open', 'write', 'fsync', 'rename', 'link', 'unlink'];
      const met = new Set<FaultCall>();
      for (let k = 1, isOver = false; !isOver; k++) {
        using at = new TestHome();
        await prepare(at);
        if (edit !== undefined) writeFileSync(fileOf(at.home), edit);
        const old = textOf(at.home);
        await change(at, { path: 'sessions.json', calls, at: k, action: 'kill' });
        const [fault] = readFaultLog(at.log);
        const what = `${k}: ${fault?.call ?? 'not killed'}`;
        const text = textOf(at.home);
        if (text !== old) expect(idsIn(text), what).toEqual(['s1', 's2']);
        await change(at);
        expect(idsIn(textOf(at.home)), what).toEqual(['s1', 's2']);
        const aside = asideOf(at.home);
        expect(existsSync(aside) ? readFileSync(aside, 'utf8') : undefined, what).toBe(edit);
        expect(halves(at.home), what).toEqual([]);
        if (fault === undefined) isOver = true;
        else met.add(fault.call);
      }
      const expected: FaultCall[] = ['open', 'write', 'fsync', 'rename', 'link'];
      expect([...met].sort()).toEqual(
        expected.filter((call) => call !== 'link' || edit !== undefined).sort(),
      );
    },
    600_000,
  );

  test('no sync of it is on the way of a commit: it is synced on closing only', async () => {
    using at = new TestHome();
    await prepare(at);
    const plan = {
      path: 'sessions.json',
      calls: ['fsync', 'fdatasync'],
      at: 1,
      action: 'eio',
      count: -1,
    } as const;
    const driver = await startDriver(at.options('jsonl', plan));
    for (let n = 0; n < 3; n++) {
      await must(driver, say('s1', `message ${n}`));
      await until('the file has it', () => textOf(at.home).includes(`"messageCount":${n + 2},`));
    }
    expect(readFaultLog(at.log)).toEqual([]);
    await must(driver, say('s1', 'the last one'));
    await driver.stop();
    expect(readFaultLog(at.log).map(({ call }) => call)).toEqual(['fsync']);
    // The close went well all the same, and nothing half-written is left.
    expect(halves(at.home)).toEqual([]);
  });
});
