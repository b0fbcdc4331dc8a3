import { Reprise } from '../src/engine/reprise.ts';
import type { Session } from '../src/engine/session.ts';
import type { Model } from '../src/models/model.ts';
import { createOfflineModel } from '../src/models/offline/offline-model.ts';
import { openMemoryStore } from '../src/store/memory/open.ts';
import { collect } from './collect.ts';
import { WINDOW } from './homes.ts';
import { makeRow, type Task } from './measure.ts';
import { nextTurn } from './payload.ts';

const HELD = 5000;
const IDLE_GOAL_KB = 4;
const ACTIVE = 40;

/** What the main thread keeps of sessions; what the storage threads keep is bounded for all of them together. */
export function sessionMemoryTasks(): Task[] {
  return [idleTask(), activeTask()];
}

function idleTask(): Task {
  const work = `memory of a session that is held, of ${HELD.toLocaleString('en')}`;
  const run: Task['run'] = async () => {
    const store = await openMemoryStore({});
    await using reprise = new Reprise({ store, model: createOfflineModel() });
    const open = async (count: number): Promise<Session[]> => {
      const sessions: Session[] = [];
      for (let i = 0; i < count; i++) sessions.push(await reprise.session(`agent:main:direct:${i}`));
      return sessions;
    };
    await open(100);
    const before = await heldKilobytes();
    const sessions = await open(HELD);
    const oursValue = ((await heldKilobytes()) - before) / sessions.length;
    return makeRow({
      work,
      limit: 'as agreed',
      limitValue: IDLE_GOAL_KB,
      oursValue,
      unit: 'KB',
      goal: 1,
      note: `goal: at most ${IDLE_GOAL_KB} KB`,
    });
  };
  return { work, run };
}

/** In the middle of an answer: everything a turn holds, with the request the model was sent. */
function activeTask(): Task {
  const work = `memory of a session in a turn with ${WINDOW} messages, of ${ACTIVE}`;
  const run: Task['run'] = async () => {
    const { promise: over, resolve: end } = Promise.withResolvers<void>();
    let running = 0;
    const model = waitingModel(over, () => running++);
    const store = await openMemoryStore({});
    await using reprise = new Reprise({
      store,
      model,
      compaction: { background: false },
      lanes: { turns: 2 * ACTIVE },
    });
    let windowBytes = 0;
    for (let i = 0; i < ACTIVE; i++) {
      await store.create({ id: `active-${i}`, key: `agent:main:direct:${i}`, activate: true });
      for (let turn = 0; turn < WINDOW / 2; turn++) {
        const entries = nextTurn();
        windowBytes += JSON.stringify(entries).length;
        await store.append(`active-${i}`, entries);
      }
    }
    const before = await heldKilobytes();
    const turns = await Promise.all(
      Array.from({ length: ACTIVE }, async (_, i) =>
        (await reprise.session({ id: `active-${i}` })).send('go'),
      ),
    );
    while (running < ACTIVE) await breathe();
    const oursValue = ((await heldKilobytes()) - before) / ACTIVE;
    end();
    await Promise.all(turns.map(({ result }) => result));
    return makeRow({
      work,
      limit: 'those messages as JSON',
      limitValue: windowBytes / ACTIVE / 1024,
      oursValue,
      unit: 'KB',
      goal: 2,
    });
  };
  return { work, run };
}

function waitingModel(over: Promise<void>, onStart: () => void): Model {
  const offline = createOfflineModel();
  return {
    ...offline,
    contextWindow: 10_000_000,
    async *stream(request, options) {
      onStart();
      await over;
      yield* offline.stream(request, options);
    },
  };
}

const breathe = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function heldKilobytes(): Promise<number> {
  for (let i = 0; i < 3; i++) {
    collect();
    await breathe();
  }
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 1024;
}
