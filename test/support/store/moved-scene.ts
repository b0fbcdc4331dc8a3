import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'vitest';
import type { Answer, DriverProcess } from '../../../testing/crash/driver-process.ts';
import { type Fleet, startFleet } from '../../../testing/crash/fleet.ts';
import { createHistory, type History } from '../../../testing/crash/history.ts';
import { startLoad } from '../../../testing/crash/load.ts';
import { appendOne, judgeFresh, must, SESSION, TestHome, told, transcriptLines } from './store-faults.ts';

export type Kind = 'jsonl' | 'sqlite';
export const KINDS = ['jsonl', 'sqlite'] as const;
export const LOAD = { sessions: ['s'], window: 2, maxBytes: 2000 } as const;

/** Two writers on one store, what they were asked and answered, and ways to take their files away. */
export class MovedScene implements AsyncDisposable {
  readonly kind: Kind;
  readonly at: TestHome = new TestHome();
  readonly history: History = createHistory();
  fleet!: Fleet;

  private constructor(kind: Kind) {
    this.kind = kind;
  }

  static async open(kind: Kind): Promise<MovedScene> {
    const scene = new MovedScene(kind);
    scene.fleet = await startFleet(scene.options, 2);
    await must(scene.fleet[0], SESSION);
    return scene;
  }

  get options(): ReturnType<TestHome['options']> {
    return this.at.options(this.kind);
  }

  get database(): string {
    return join(this.at.home, this.kind === 'jsonl' ? 'control.db' : 'store.db');
  }

  /** So much that it cannot all be in the database yet. */
  async fill(seed: number, drivers: readonly DriverProcess[] = this.fleet): Promise<void> {
    const load = startLoad({ ...LOAD, drivers, history: this.history, seed });
    expect(await load.reach(40, 60_000)).toBe(true);
    await load.stop();
  }

  remove(suffixes: readonly string[]): void {
    for (const suffix of suffixes) rmSync(this.database + suffix, { force: true });
  }

  append(driver: DriverProcess): Promise<Answer> {
    return appendOne(driver, this.history);
  }

  /** Refused with the reason, then as before. Two files go one after the other, which may be noticed twice. */
  async mustTell(driver: DriverProcess): Promise<void> {
    let answer = await this.append(driver);
    for (let i = 0; i === 0 || (i < 2 && !answer.ok); i++) {
      expect(answer).toMatchObject({ code: 'STORE_MOVED', outcome: 'none' });
      answer = await this.append(driver);
    }
    expect(answer).toMatchObject({ ok: true });
  }

  async end(ending: 'stop' | 'kill', drivers: readonly DriverProcess[] = this.fleet): Promise<void> {
    for (const driver of drivers) {
      if (ending === 'kill') driver.kill();
      else expect(await driver.stop()).toMatchObject({ code: 0, stderr: '' });
      await driver.exited;
    }
  }

  /** Everything acknowledged is there once, in a database without damage, and the store can be used. */
  async judge(what: string): Promise<void> {
    const { before, after } = await judgeFresh(this.options, this.history);
    told(`T30d ${this.kind} ${what}: ${before.line}`);
    expect(after).toMatchObject({ unknown: 0, lost: 0, duplicated: 0 });
    if (this.kind === 'jsonl') {
      const qs = transcriptLines(this.at.transcript).map(({ q }) => q);
      expect(qs).toEqual(qs.map((_, index) => index + 1));
    }
    expect(this.query('PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }]);
  }

  query(sql: string, path: string = this.database): unknown[] {
    const db = new DatabaseSync(path);
    try {
      return db
        .prepare(sql)
        .all()
        .map((row) => ({ ...row }));
    } finally {
      db.close();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const driver of this.fleet) {
      driver.kill('SIGCONT');
      await driver[Symbol.asyncDispose]();
    }
    this.at[Symbol.dispose]();
  }
}
