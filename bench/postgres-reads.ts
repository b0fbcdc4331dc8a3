import type { Store } from '../src/store/port/store.ts';
import {
  boundContext,
  createSession,
  indexed,
  inParallel,
  type Scale,
  SESSION,
  sessionId,
  WINDOW,
} from './homes.ts';
import { compareSlices, latency, type Task } from './measure.ts';
import { nextTurn } from './payload.ts';
import { openServer } from './postgres.ts';

const SHORT_HISTORY = 1000;
const FEW_SESSIONS = 1000;
const PAGE = 50;
const TURNS_PER_APPEND = 100;

/** What looking costs on PostgreSQL when there is more to look at; both arms are databases of one run. */
export function postgresReadTasks(scale: Scale): Task[] {
  const { history, sessions } = scale;
  const open = `open for a turn, window of ${WINDOW} messages, history ${count(history)} over ${count(SHORT_HISTORY)}, postgres (p50)`;
  const turn = `turn cost, history ${count(history)} messages over ${count(SHORT_HISTORY)}, postgres (p50)`;
  const few = Math.min(FEW_SESSIONS, sessions / 10);
  const list = `newest ${PAGE} sessions of ${count(sessions)} over of ${count(few)}, postgres (p50)`;
  return [
    growth(scale, open, 1.3, [SHORT_HISTORY, history], fillHistory, (store) => store.tail(SESSION)),
    growth(scale, turn, 1.1, [SHORT_HISTORY, history], fillHistory, (store) =>
      store.append(SESSION, nextTurn()),
    ),
    growth(scale, list, 1.5, [few, sessions], fillSessions, (store) => store.list({ limit: PAGE })),
  ];
}

function growth(
  scale: Scale,
  work: string,
  goal: number,
  [small, large]: readonly [number, number],
  fill: (store: Store, size: number) => Promise<void>,
  look: (store: Store) => Promise<unknown>,
): Task {
  const run: Task['run'] = async () => {
    await using few = await openServer();
    await using many = await openServer();
    await fill(few.store, small);
    await fill(many.store, large);
    // What making the index costs others is another row; here it would be the larger one's alone.
    for (const { store } of [few, many]) await indexed(store);
    const limit = latency(count(small), () => look(few.store));
    const ours = latency(count(large), () => look(many.store));
    return await compareSlices({ work, limit, ours, goal }, scale.latency);
  };
  return { work, run };
}

/** One session whose context is bounded, as a turn would find it. */
async function fillHistory(store: Store, messages: number): Promise<void> {
  for (let left = messages / 2; left > 0; left -= TURNS_PER_APPEND) {
    const turns = Array.from({ length: Math.min(left, TURNS_PER_APPEND) }, nextTurn);
    await store.append(SESSION, turns.flat());
  }
  await boundContext({ store });
}

async function fillSessions(store: Store, sessions: number): Promise<void> {
  await inParallel(sessions, async (i) => {
    await createSession(store, i);
    await store.append(sessionId(i), nextTurn());
  });
}

function count(value: number): string {
  return value.toLocaleString('en');
}
