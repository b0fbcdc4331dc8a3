import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openStore } from '../../src/config/open.ts';
import { type Answer, type DriverProcess, startDriver } from '../../src/testing/crash/driver-process.ts';
import { createRandom, type Random } from '../../src/testing/crash/random.ts';
import {
  type Evidence,
  judge,
  type Receipt,
  type SeenRequest,
  type Sent,
  type ToolRun,
} from '../simulation/judge.ts';
import { makeConversations, Traffic } from '../simulation/traffic.ts';
import { notes } from '../support/turn-judge.ts';

const FIRST = Number(process.env['REPRISE_CRASH_SEED'] ?? 1);
const SEEDS = Number(process.env['REPRISE_CRASH_SEEDS'] ?? 5);
const script = fileURLToPath(new URL('../support/conversation-driver.ts', import.meta.url));
const PROCESSES = 3;
const MESSAGES = 60;
const KILLS = 3;
const REST_MS = 60_000;

let home = '';
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'reprise-conversations-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

/** Until somebody says that he has it. A process that dies with it in hand said nothing. */
async function deliver(fleet: readonly DriverProcess[], sent: Sent, random: Random): Promise<void> {
  for (;;) {
    const driver = fleet[random.integer(0, fleet.length - 1)];
    const answer = await driver?.send({ op: 'receive', delivery: sent.delivery });
    if (answer?.ok === true) {
      sent.receipts.push(answer as Answer & Receipt);
      return;
    }
    if (answer?.code === 'QUEUE_FULL') {
      sent.refused = answer.code;
      return;
    }
    expect(answer).toMatchObject({ outcome: 'unknown' });
    await sleep(20); // until there is another process to ask
  }
}

/** What the processes wrote down. Each model call of a process that lived on ended before another one began. */
function evidenceOf(messages: Sent[]): Evidence {
  const lines = notes<{ pid: number; call: number; request?: SeenRequest; over?: true }>(home, 'requests');
  const open = new Map<string, string>();
  const sessionOf = new Map<string, string>();
  const over = new Set(lines.filter((line) => line.over).map(({ pid, call }) => `${pid}:${call}`));
  const findings: string[] = [];
  for (const { pid, call, request } of lines) {
    const name = `${pid}:${call}`;
    if (request === undefined) {
      if (open.get(sessionOf.get(name) ?? '') === name) open.delete(sessionOf.get(name) ?? '');
      continue;
    }
    const { sessionId } = request;
    const other = open.get(sessionId);
    if (other !== undefined && over.has(other))
      findings.push(`${name} and ${other} ask for ${sessionId} at once`);
    open.set(sessionId, name);
    sessionOf.set(name, sessionId);
  }
  return {
    messages,
    requests: lines.flatMap(({ request }) => request ?? []),
    toolRuns: notes<ToolRun>(home, 'tools'),
    ends: notes(home, 'ends'),
    findings,
  };
}

async function rest(fleet: readonly DriverProcess[]): Promise<void> {
  const deadline = performance.now() + REST_MS;
  for (;;) {
    const answer = await fleet[0]?.send({ op: 'pending' });
    if (answer?.['open'] === 0) return;
    if (performance.now() > deadline) throw new Error(`${String(answer?.['open'])} messages have no end`);
    await sleep(50);
  }
}

const seeds = Array.from({ length: SEEDS }, (_, i) => FIRST + i);
test.for(seeds)(
  'three processes under kill -9 answer what people say once, in order, each in its own session (seed %i)',
  { timeout: 240_000 },
  async (seed) => {
    const random = createRandom(seed);
    const traffic = new Traffic(random, { conversations: makeConversations(random, 12), commands: false });
    const messages: Sent[] = Array.from({ length: MESSAGES }, () => ({
      delivery: traffic.next(),
      receipts: [],
    }));
    const start = (): Promise<DriverProcess> => startDriver({ store: 'jsonl', home, script });
    const fleet = await Promise.all(Array.from({ length: PROCESSES }, start));
    try {
      const isDue = new Set(Array.from({ length: KILLS }, () => random.integer(1, MESSAGES - 1)));
      const waiting: Promise<void>[] = [];
      let kills = 0;
      for (const [i, sent] of messages.entries()) {
        waiting.push(deliver(fleet, sent, random));
        if (random.chance(0.1)) waiting.push(deliver(fleet, sent, random));
        await sleep(random.skewed(1, 60)); // people do not all speak at once
        if (!isDue.has(i)) continue;
        const at = random.integer(0, PROCESSES - 1);
        fleet[at]?.kill();
        await fleet[at]?.exited;
        fleet[at] = await start();
        kills++;
      }
      await Promise.all(waiting);
      await rest(fleet);
      for (const driver of fleet) expect(await driver.stop()).toMatchObject({ code: 0, stderr: '' });
      expect(kills).toBeGreaterThan(0);
    } finally {
      for (const driver of fleet) await driver[Symbol.asyncDispose]();
    }
    await using store = await openStore({ kind: 'jsonl', home, durability: 'os' });
    const { findings } = await judge(store, evidenceOf(messages));
    expect(findings).toEqual([]);
  },
);
