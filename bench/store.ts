import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSession, type Homes, type Scale, SESSION, sessionId } from './homes.ts';
import { type Arm, busyTime, compareSlices, latency, makeRow, rate, type Task } from './measure.ts';
import { MESSAGE_BYTES, nextTurn, transcriptBytes } from './payload.ts';
import { RawFiles } from './raw.ts';

const CALLERS = 64;
const LINES_PER_TURN = 2;
const TURNS_TO_WEIGH = 500;
const KINDS = ['jsonl', 'sqlite'] as const;

/** What writing costs: a turn is two entries of about 1 KB. */
export function writeTasks(homes: Homes, scale: Scale): Task[] {
  const turn = transcriptBytes(LINES_PER_TURN);
  const { folder } = homes;
  return [
    ...KINDS.map((kind) => {
      const work = `durable turn, awaited, one session, ${kind} (p50)`;
      const run: Task['run'] = async () => {
        const { store } = await homes.plain({ kind });
        using raw = new RawFiles(folder, `turn-${kind}`, 1);
        const limit = latency('append the same bytes + fdatasync', () => raw.append(turn));
        const ours = latency('append', () => store.append(SESSION, nextTurn()));
        return await compareSlices({ work, limit, ours, goal: 2 }, scale.latency);
      };
      return { work, run };
    }),
    ...KINDS.map((kind) => {
      const work = `durable, ${CALLERS} callers, one session, ${kind}`;
      const run: Task['run'] = async () => {
        const { store } = await homes.plain({ kind });
        using raw = new RawFiles(folder, `callers-${kind}`, 1);
        const lines = transcriptBytes(CALLERS);
        const limit = rate(`${CALLERS} lines + fdatasync, one file`, 'lines', () => raw.append(lines), {
          callers: 1,
          units: CALLERS,
        });
        const ours = rate('append', 'lines', () => store.append(SESSION, nextTurn()), {
          callers: CALLERS,
          units: LINES_PER_TURN,
        });
        return await compareSlices({ work, limit, ours, goal: 0.4, better: 'higher' }, scale.rate);
      };
      return { work, run };
    }),
    ...KINDS.map((kind) => {
      const work = `durable, ${CALLERS} sessions, ${kind}`;
      const run: Task['run'] = async () => {
        const { store } = await homes.plain({ kind, sessions: CALLERS });
        using raw = new RawFiles(folder, `sessions-${kind}`, CALLERS);
        const limit = rate(
          `append a turn + fdatasync, ${CALLERS} files`,
          'turns',
          (i) => raw.appendTo(i, turn),
          { callers: CALLERS },
        );
        const ours = rate('append', 'turns', (i) => store.append(sessionId(i), nextTurn()), {
          callers: CALLERS,
        });
        return await compareSlices({ work, limit, ours, goal: 0.8, better: 'higher' }, scale.rate);
      };
      return { work, run };
    }),
    ...unsyncedTasks(homes, scale),
    ...growthTasks(homes, scale),
    bytesTask(homes),
  ];
}

/** Against what tools do that append on the main thread and leave the rest to the operating system. */
function unsyncedTasks(homes: Homes, scale: Scale): Task[] {
  const path = join(homes.folder, 'unsynced.raw');
  const plain = (): void => {
    for (const entry of nextTurn()) appendFileSync(path, `${JSON.stringify(entry)}\n`);
  };
  const name = 'appendFileSync of each entry on the main thread';
  const open = async (): Promise<() => Promise<unknown>> => {
    const { store } = await homes.plain({ durability: 'os' });
    return () => store.append(SESSION, nextTurn());
  };
  const note = (): string => 'the goal is set against pi, which does a little more: `npm run bench:peers`';
  const busy = `durability os, ${CALLERS} callers: main thread busy per turn`;
  const throughput = `durability os, ${CALLERS} callers`;
  return [
    {
      work: throughput,
      run: async () => {
        const limit = rate(name, 'turns', plain, { callers: 1 });
        const ours = rate('append', 'turns', await open(), { callers: CALLERS });
        return await compareSlices(
          { work: throughput, limit, ours, goal: 1.5, better: 'higher', note },
          scale.rate,
        );
      },
    },
    {
      work: busy,
      run: async () => {
        const limit = busyTime(name, plain, { callers: 1 });
        const ours = busyTime('append', await open(), { callers: CALLERS });
        return await compareSlices({ work: busy, limit, ours, goal: 0.5, note }, scale.rate);
      },
    },
  ];
}

/** A turn must not cost more because there is more. */
function growthTasks(homes: Homes, scale: Scale): Task[] {
  const { history, sessions } = scale;
  const byHistory = `turn cost, history ${show(history)} messages over 10 (p50)`;
  const bySessions = `turn cost, ${show(sessions)} sessions over 1 (p50)`;
  const spread = `turn cost, each turn in another of ${show(sessions)} sessions over of ${CALLERS} (p50)`;
  return [
    {
      work: byHistory,
      run: async () => {
        const long = await homes.history(history);
        const limit = await shortSessions(homes);
        const ours = latency('long', () => long.store.append(SESSION, nextTurn()));
        return await compareSlices({ work: byHistory, limit, ours, goal: 1.1 }, scale.latency);
      },
    },
    {
      work: bySessions,
      run: async () => {
        const one = await homes.plain();
        const many = await homes.sessions(sessions);
        const limit = latency('1 session', () => one.store.append(SESSION, nextTurn()));
        const ours = latency('many', () => many.store.append(SESSION, nextTurn()));
        return await compareSlices({ work: bySessions, limit, ours, goal: 1.6 }, scale.latency);
      },
    },
    {
      work: spread,
      run: async () => {
        const few = await homes.plain({ sessions: CALLERS });
        const many = await homes.sessions(sessions);
        let n = 0;
        const limit = latency(`in ${CALLERS} sessions by turns`, () =>
          few.store.append(sessionId(n++ % CALLERS), nextTurn()),
        );
        const ours = latency('spread', () => many.store.append(sessionId(n++ % sessions), nextTurn()));
        return await compareSlices({ work: spread, limit, ours, goal: 1.6 }, scale.latency);
      },
    },
  ];
}

/** A session of ten messages, another one for each slice, because turns make it longer. */
async function shortSessions(homes: Homes): Promise<Arm> {
  const { store } = await homes.plain();
  let number = 0;
  const prepare = async (): Promise<void> => {
    await createSession(store, ++number);
    for (let i = 0; i < 5; i++) await store.append(sessionId(number), nextTurn());
  };
  return latency('history 10', () => store.append(sessionId(number), nextTurn()), prepare);
}

function bytesTask(homes: Homes): Task {
  const work = 'bytes in transcripts per byte of payload';
  const run: Task['run'] = async () => {
    const { store } = await homes.plain({ durability: 'os' });
    for (let i = 0; i < TURNS_TO_WEIGH; i++) await store.append(SESSION, nextTurn());
    const [{ bytes }, { messageCount }] = await Promise.all([store.stats(), store.get(SESSION)]);
    const payload = messageCount * MESSAGE_BYTES;
    const note = `${messageCount.toLocaleString('en')} messages of ${MESSAGE_BYTES} bytes of JSON`;
    const values = { limitValue: payload / messageCount, oursValue: bytes / messageCount };
    return makeRow({ work, limit: 'the messages as JSON', ...values, unit: 'bytes', goal: 1.2, note });
  };
  return { work, run };
}

function show(count: number): string {
  return count.toLocaleString('en');
}
