import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { openReprise } from '../src/config/open-reprise.ts';
import type { InboundMessage } from '../src/engine/intake/inbound.ts';
import type { Reprise } from '../src/engine/reprise.ts';
import type { Model } from '../src/models/model.ts';
import { createOfflineModel } from '../src/models/offline/offline-model.ts';
import type { Scale } from './homes.ts';
import { compareSlices, latency, type Task } from './measure.ts';

const KINDS = ['jsonl', 'sqlite'] as const;

/** What it costs to accept a message while others are being answered. */
export function acceptTasks(folder: string, { busySessions, latency: slices }: Scale): Task[] {
  return KINDS.map((kind) => {
    const work = `accept a message while ${busySessions} sessions are busy, ${kind} (p50)`;
    const run: Task['run'] = async () => {
      await using idle = await open(folder, kind);
      await using busy = await open(folder, kind);
      await occupy(busy, busySessions);
      const limit = latency('the same in an idle engine', acceptor(idle));
      const ours = latency('receive', acceptor(busy));
      const row = await compareSlices({ work, limit, ours, goal: 2 }, slices);
      busy.letGo();
      return row;
    };
    return { work, run };
  });
}

interface Opened extends AsyncDisposable {
  readonly reprise: Reprise;
  readonly letGo: () => void;
  readonly running: () => number;
}

/** Turns that begin wait in the middle of their answer until they are let go. */
async function open(folder: string, store: 'jsonl' | 'sqlite'): Promise<Opened> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const offline = createOfflineModel();
  let running = 0;
  const model: Model = {
    ...offline,
    async *stream(request, options) {
      running++;
      await promise;
      yield* offline.stream(request, options);
    },
  };
  const home = mkdtempSync(join(folder, `accept-${store}-`));
  const session = { queue: { debounceMs: 0, cap: 1_000_000 } };
  const reprise = await openReprise({ home, store, model, session, lanes: { turns: 10_000 } });
  const close = async (): Promise<void> => {
    resolve();
    await reprise[Symbol.asyncDispose]();
  };
  return { reprise, letGo: resolve, running: () => running, [Symbol.asyncDispose]: close };
}

async function occupy({ reprise, running }: Opened, sessions: number): Promise<void> {
  await Promise.all(Array.from({ length: sessions }, (_, i) => reprise.receive(message(`busy-${i}`))));
  while (running() < sessions) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** One chat whose answer is under way: every further message waits there, so only its acceptance is measured. */
function acceptor({ reprise }: Opened): () => Promise<unknown> {
  return () => reprise.receive(message('probe'));
}

function message(peer: string): InboundMessage {
  return { text: 'hello', channel: 'bench', peer, queue: 'queue' };
}
