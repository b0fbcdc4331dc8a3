/**
 * An engine behind a pipe that receives messages as a channel would deliver them, to be killed at any moment. Speaks
 * the protocol of the crash kit. What its model was sent and its tools did stands in files of the home.
 */
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { openStore } from '../../src/config/open.ts';
import { Reprise } from '../../src/engine/reprise.ts';
import { createRandom } from '../../src/testing/crash/random.ts';
import { failure, print } from '../../src/testing/crash/serve.ts';
import { accept } from '../simulation/accept.ts';
import { createSimModel, createSimTools, type Stage } from '../simulation/sim-model.ts';
import { AGENTS, type Delivery } from '../simulation/traffic.ts';

const option = { type: 'string' } as const;
const { home = '' } = parseArgs({ options: { store: option, home: option } }).values;
const note = (file: string, what: object): void =>
  appendFileSync(join(home, `${file}.log`), `${JSON.stringify({ ...what, pid: process.pid })}\n`);

let calls = 0;
const stage: Stage = {
  random: createRandom(process.pid),
  patience: 60,
  async sleep(ms, signal) {
    await sleep(ms, undefined, signal === undefined ? {} : { signal });
  },
  onRequest(request) {
    const call = ++calls;
    note('requests', { call, request });
    return () => note('requests', { call, over: true });
  },
  onTool: (run) => note('tools', run),
};
const reprise = new Reprise({
  store: await openStore({ kind: 'jsonl', home, durability: 'os' }),
  model: createSimModel(stage),
  tools: createSimTools(stage),
  agents: AGENTS,
  compaction: { background: false },
  session: { queue: { debounceMs: 50 } },
  run: process.env['REPRISE_RUN'] !== 'false',
});

async function answer(line: string): Promise<void> {
  const { n, op, delivery } = JSON.parse(line) as { n: number; op: string; delivery: Delivery };
  try {
    const told =
      op === 'pending'
        ? { open: (await reprise.store.inbox.pending()).length }
        : await accept(reprise, delivery);
    await print(JSON.stringify({ n, ok: true, ...told }));
  } catch (error) {
    await print(JSON.stringify({ n, ...failure(error) }));
  }
}

async function listen(): Promise<void> {
  for await (const { inboxId, event } of reprise.events())
    if (event.type === 'done' || event.type === 'error') note('ends', { inboxId, type: event.type });
}

void listen();
await print('{"ready":true}');
const running: Promise<void>[] = [];
for await (const line of createInterface({ input: process.stdin })) running.push(answer(line));
await Promise.all(running);
await reprise[Symbol.asyncDispose]();
