/**
 * An engine behind a pipe, so that a test can kill it in the middle of a turn. Speaks the protocol of the crash kit:
 * one command per line, one answer each. What its model and tools do stands in files of the home, see turn-model.ts.
 */
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { type OpenStoreOptions, openStore } from '../../../src/config/open.ts';
import { isProfileName } from '../../../src/engine/agents/profiles.ts';
import { Reprise } from '../../../src/engine/reprise.ts';
import type { TurnStream } from '../../../src/engine/turn/turn-stream.ts';
import { RepriseError } from '../../../src/errors.ts';
import { failure, print } from '../../../testing/crash/serve.ts';
import { createPlannedModel, dieAt, plannedTools } from '../engine/turn-model.ts';

interface Command {
  readonly n: number;
  readonly op: string;
  readonly session: string;
  readonly text: string;
  readonly key: string;
  readonly inboxId: string;
}

const option = { type: 'string' } as const;
const {
  store: kind = 'jsonl',
  home = '',
  url,
} = parseArgs({ options: { store: option, home: option, url: option } }).values;
const store = await openStore({
  kind: kind as NonNullable<OpenStoreOptions['kind']>,
  ...(url === undefined ? { home, durability: 'os' as const } : { url }),
});
const { turns } = store;
const end: typeof turns.end = async (turn, entries, options) => {
  const ended = await turns.end(turn, entries, options);
  if (options.settle?.some(({ state }) => state === 'done') === true) dieAt(home, 'after-end');
  return ended;
};
Object.assign(store, { turns: { ...turns, end } });
const append = store.append.bind(store);
store.append = async (id, entries, options) => {
  const isCompaction = entries.some(({ type }) => type === 'compaction');
  if (isCompaction) dieAt(home, 'before-append');
  const receipt = await append(id, entries, options);
  if (isCompaction) dieAt(home, 'after-append');
  return receipt;
};
const profile = process.env['REPRISE_PROFILE'];
const background = process.env['REPRISE_BACKGROUND'];
const reprise = new Reprise({
  session: { queue: { mode: 'queue', cap: 1000 } },
  store,
  ...(isProfileName(profile) && { profile }),
  model: createPlannedModel(home),
  tools: plannedTools(home),
  contextTokens: 32_000,
  compaction: {
    background: background === undefined ? false : Number(background),
    cut: { kind: 'keep-turns', turns: 2 },
  },
  run: process.env['REPRISE_RUN'] !== 'false',
});
const streams = new Map<string, TurnStream>();

const OPERATIONS: Record<string, (command: Command) => Promise<object>> = {
  /** Answers when the message is accepted. */
  async send({ session: sessionKey, text, key }) {
    const session = await reprise.session(sessionKey);
    const stream = session.send(text, { idempotencyKey: key });
    const { inboxId, sessionId, fresh } = await stream.accepted;
    streams.set(inboxId, stream);
    return { inboxId, sessionId, fresh };
  },
  /** Answers with the terminal events its sender saw: there must be one. */
  async end({ inboxId }) {
    const ends = [];
    for await (const event of streams.get(inboxId) ?? [])
      if (event.type === 'done' || event.type === 'error') ends.push(event);
    return { ends, inbox: await reprise.inbox(inboxId) };
  },
  /** Answers when the child is accepted. */
  async spawn({ session: sessionKey, text }) {
    return { ...(await reprise.spawn(sessionKey, { task: text, cleanup: 'delete' })) };
  },
  async compact({ session: sessionKey }) {
    const session = await reprise.session(sessionKey);
    return { event: await session.compact() };
  },
  async undo({ session: sessionKey }) {
    const session = await reprise.session(sessionKey);
    return { ...(await session.undo()) };
  },
  async idle() {
    await reprise.idle();
    return {};
  },
};

async function answer(line: string): Promise<void> {
  const command = JSON.parse(line) as Command;
  const { n, op } = command;
  try {
    const operation = OPERATIONS[op];
    if (operation === undefined) throw new RepriseError('INVALID_INPUT', `no such op: ${op}`);
    await print(JSON.stringify({ n, ok: true, ...(await operation(command)) }));
  } catch (error) {
    await print(JSON.stringify({ n, ...failure(error) }));
  }
}

await print('{"ready":true}');
const running: Promise<void>[] = [];
for await (const line of createInterface({ input: process.stdin })) running.push(answer(line));
await Promise.all(running);
await reprise[Symbol.asyncDispose]();
