/**
 * An engine behind a pipe that receives messages as a channel would deliver them, to be killed at any moment. Speaks
 * the protocol of the crash kit. What its model was sent and its tools did stands in files of the home. Without a home
 * it waits for an order that names the store to open; it can change from one to another.
 */
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { openStore, type StoreKind } from '../../../src/config/open.ts';
import { Reprise } from '../../../src/engine/reprise.ts';
import { createRandom } from '../../../testing/crash/random.ts';
import { failure, print } from '../../../testing/crash/serve.ts';
import { accept } from '../../simulation/accept.ts';
import { createSimModel, createSimTools, type Stage } from '../../simulation/sim-model.ts';
import { AGENTS, type Delivery } from '../../simulation/traffic.ts';

interface Place {
  readonly store?: string | undefined;
  readonly home?: string | undefined;
  readonly url?: string | undefined;
}

interface Command extends Place {
  readonly n: number;
  readonly op: string;
  readonly delivery: Delivery;
}

const option = { type: 'string' } as const;
let calls = 0;
let reprise: Reprise | undefined;

async function open({ store = 'jsonl', home = '', url }: Place): Promise<void> {
  const note = (file: string, what: object): void =>
    appendFileSync(join(home, `${file}.log`), `${JSON.stringify({ ...what, pid: process.pid })}\n`);
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
  const at = url === undefined ? { home, durability: 'os' as const } : { url };
  const opened = new Reprise({
    store: await openStore({ kind: store as StoreKind, ...at }),
    model: createSimModel(stage),
    tools: createSimTools(stage),
    agents: AGENTS,
    compaction: { background: false },
    session: { queue: { debounceMs: 50 } },
    run: process.env['REPRISE_RUN'] !== 'false',
  });
  reprise = opened;
  const listen = async (): Promise<void> => {
    for await (const { inboxId, event } of opened.events())
      if (event.type === 'done' || event.type === 'error') note('ends', { inboxId, type: event.type });
  };
  void listen();
}

async function close(): Promise<void> {
  await reprise?.[Symbol.asyncDispose]();
  reprise = undefined;
}

async function act({ op, delivery, store, home, url }: Command): Promise<object> {
  switch (op) {
    case 'open':
      await open({ store, home, url });
      return {};
    case 'close':
      await close();
      return {};
    case 'pending':
      return { open: (await opened().store.inbox.pending()).length };
    default:
      return accept(opened(), delivery);
  }
}

function opened(): Reprise {
  if (reprise === undefined) throw new Error('no store is open');
  return reprise;
}

async function answer(line: string): Promise<void> {
  const command = JSON.parse(line) as Command;
  const { n } = command;
  try {
    await print(JSON.stringify({ n, ok: true, ...(await act(command)) }));
  } catch (error) {
    await print(JSON.stringify({ n, ...failure(error) }));
  }
}

const place: Place = parseArgs({ options: { store: option, home: option, url: option } }).values;
if (place.home !== '') await open(place);
await print('{"ready":true}');
const running: Promise<void>[] = [];
for await (const line of createInterface({ input: process.stdin })) running.push(answer(line));
await Promise.all(running);
await close();
