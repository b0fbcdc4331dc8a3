// @module-tag long
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openStore } from '../../src/config/open.ts';
import { SUMMARY_NOTES } from '../../src/engine/window/compactor.ts';
import type { Entry, Store } from '../../src/index.ts';
import { type DriverProcess, startDriver } from '../../testing/crash/driver-process.ts';
import { notes, readAll } from '../support/engine/turn-judge.ts';
import { type FreshDatabase, freshDatabase } from '../support/postgres/postgres.ts';
import { bundledProgram } from '../support/processes/bundled-program.ts';

const script = bundledProgram('turn-driver');
const session = 'agent:main:main';
const LONG = 'so '.repeat(300);

/** A home with a store in it, or with a database beside it. */
class Home implements AsyncDisposable {
  readonly path: string = mkdtempSync(join(tmpdir(), 'reprise-summary-'));
  readonly #kind: 'jsonl' | 'sqlite' | 'postgres';
  #database: FreshDatabase | undefined;

  constructor(kind: 'jsonl' | 'sqlite' | 'postgres') {
    this.#kind = kind;
  }

  async start(env: Readonly<Record<string, string>> = {}): Promise<DriverProcess> {
    const { url } = await this.#place();
    return startDriver({
      store: this.#kind,
      home: this.path,
      ...(url !== undefined && { url }),
      env,
      script,
    });
  }

  async store(): Promise<Store> {
    const { url } = await this.#place();
    const at = url === undefined ? { home: this.path } : { url };
    return openStore({ kind: this.#kind, ...at });
  }

  /** Creates a file that the program looks at. */
  mark(name: string): void {
    writeFileSync(join(this.path, name), '');
  }

  unmark(name: string): void {
    rmSync(join(this.path, name), { force: true });
  }

  summariesAsked(): number {
    if (!existsSync(join(this.path, 'requests.log'))) return 0;
    return notes<{ summary: boolean }>(this.path, 'requests').filter(({ summary }) => summary).length;
  }

  async compactions(): Promise<Entry[]> {
    await using store = await this.store();
    const { id = '' } = (await store.active(session)) ?? {};
    return (await readAll(store, id)).filter(({ type }) => type === 'compaction');
  }

  async #place(): Promise<{ readonly url?: string }> {
    if (this.#kind !== 'postgres') return {};
    this.#database ??= await freshDatabase();
    return { url: this.#database.url };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    rmSync(this.path, { recursive: true, force: true });
    await this.#database?.[Symbol.asyncDispose]();
  }
}

async function say(driver: DriverProcess, text: string): Promise<void> {
  const { inboxId } = await driver.send({ op: 'send', session, text, key: text });
  expect(await driver.send({ op: 'end', inboxId })).toMatchObject({ inbox: { status: 'done' } });
}

const compact = (driver: DriverProcess): ReturnType<DriverProcess['send']> =>
  driver.send({ op: 'compact', session });

describe.each(['jsonl', 'sqlite', 'postgres'] as const)('a process killed with a summary, on %s', (kind) => {
  let home: Home;
  beforeEach(() => {
    home = new Home(kind);
  });
  afterEach(() => home[Symbol.asyncDispose]());

  /** Five turns, and a process that is killed after the model has summarized three of them and before that is stored. */
  async function dieWithSummary(): Promise<void> {
    await using driver = await home.start();
    for (const name of ['m1', 'm2', 'm3', 'm4', 'm5']) await say(driver, `${name} ${LONG}`);
    home.mark('die-before-append');
    expect(await compact(driver)).toMatchObject({ outcome: 'unknown' });
    expect(await driver.exited).toMatchObject({ signal: 'SIGKILL' });
    home.unmark('die-before-append');
    expect(home.summariesAsked()).toBe(1);
    expect(await home.compactions()).toEqual([]);
  }

  test('asks the model no second time for the same messages', async () => {
    await dieWithSummary();
    {
      await using driver = await home.start();
      expect(await compact(driver)).toMatchObject({ event: { method: 'model' } });
    }
    expect(home.summariesAsked()).toBe(1);
    expect(await home.compactions()).toMatchObject([
      { summary: expect.stringContaining('THE SUMMARY: much was said.') },
    ]);
  });

  test('asks again when turns of those messages were undone and others sent in their place', async () => {
    await dieWithSummary();
    {
      await using driver = await home.start();
      for (let i = 0; i < 3; i++)
        expect(await driver.send({ op: 'undo', session })).toMatchObject({ undone: 'turn' });
      for (const name of ['n3', 'n4', 'n5']) await say(driver, `${name} ${LONG}`);
      expect(await compact(driver)).toMatchObject({ event: { method: 'model' } });
    }
    expect(home.summariesAsked()).toBe(2);
  });
});

test.each(['jsonl', 'sqlite'] as const)(
  'a summary made beside a turn is used after a kill in the middle of that turn, on %s',
  async (kind) => {
    await using home = new Home(kind);
    home.mark('hold-summary');
    {
      await using driver = await home.start({ REPRISE_BACKGROUND: '0.5' });
      for (let i = 1; home.summariesAsked() === 0; i++) {
        await say(driver, `m${i} ${LONG.repeat(8)}`);
        expect(i).toBeLessThan(30);
      }
      await driver.send({ op: 'send', session, text: 'last | wait', key: 'last' });
      await expect
        .poll(() => notes(home.path, 'requests'))
        .toContainEqual(expect.objectContaining({ name: 'last' }));
      home.unmark('hold-summary');
      await using store = await home.store();
      const { id = '' } = (await store.active(session)) ?? {};
      await expect.poll(() => store.notes.get(SUMMARY_NOTES, id)).toBeDefined();
      driver.kill();
      await driver.exited;
    }
    expect(await home.compactions()).toEqual([]);
    home.mark('go');
    {
      await using driver = await home.start({ REPRISE_BACKGROUND: '0.5' });
      await driver.send({ op: 'idle' });
    }
    expect(home.summariesAsked()).toBe(1);
    expect(await home.compactions()).toMatchObject([
      { summary: expect.stringContaining('THE SUMMARY'), details: { reason: 'background' } },
    ]);
  },
);
