import { statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openStore } from '../src/config/open.ts';
import type { Store } from '../src/store/port/store.ts';
import { takenIn, transcriptPath, writeSealedSession } from '../test/support/store/sealed-home.ts';
import { createSession, indexed, type Scale, SESSION } from './homes.ts';
import { compareSlices, latency, makeRow, rate, type Task } from './measure.ts';
import { nextTurn } from './payload.ts';
import { readAndParse, wholeFile } from './raw.ts';

const GOAL_MS = 20;
const SESSIONS = 100;
const CALLERS = 16;
const SETTLE_MS = 1500;
/** One message in so many says it. */
const RARE = 5000;
const LONG = 'long';
const START = Date.parse('2025-01-01T00:00:00Z');

interface Searched {
  readonly store: Store;
  readonly folder: string;
}

/** What finding costs, and what others pay for it. */
export function searchTasks(folder: string, scale: Scale): Task[] {
  let indexed: Promise<Searched> | undefined;
  const open = (): Promise<Searched> => {
    indexed ??= openIndexed(join(folder, 'searched'), scale.large);
    return indexed;
  };
  return [
    lookupTask(open, scale, 'a rare word', 'zebrafish'),
    lookupTask(open, scale, 'a Chinese word of two characters', '会议'),
    // Twenty hits in twenty transcripts, each of which is read.
    lookupTask(open, scale, 'a word every message has', 'conversation', 5 * GOAL_MS),
    sizeTask(open, scale),
    scanTask(folder, scale),
    appendTask(folder, scale),
  ];
}

async function openIndexed(folder: string, messages: number): Promise<Searched> {
  for (let i = 0; i < SESSIONS; i++) {
    const say = (n: number): string =>
      (n * SESSIONS + i) % RARE === 0 ? `about zebrafish 明天的会议 ${n}` : `topic-${(n * 31 + i * 7) % 997}`;
    const saidAt = (n: number): string => new Date(START + (n * SESSIONS + i) * 1000).toISOString();
    writeSealedSession(folder, { id: `s${i}`, messages: messages / SESSIONS, bytes: 1024, say, saidAt });
  }
  const store = await openStore({ home: folder, durability: 'os' });
  await takenIn(store);
  await store.reindex();
  return { store, folder };
}

function lookupTask(
  open: () => Promise<Searched>,
  scale: Scale,
  what: string,
  text: string,
  limitValue: number = GOAL_MS,
): Task {
  const work = `search ${count(scale.large)} messages for ${what} (p50)`;
  const run: Task['run'] = async () => {
    const { store } = await open();
    const { hits, complete } = await store.search({ text });
    if (hits.length === 0 || !complete) throw new Error(`${text} is not found`);
    const samples = await latency('search', () => store.search({ text })).slice(
      scale.latency.count * scale.latency.ms,
    );
    const oursValue = samples.toSorted((a, b) => a - b)[Math.floor(samples.length / 2)] ?? Number.NaN;
    return makeRow({ work, limit: 'allowed', limitValue, oursValue, unit: 'ms', goal: 1 });
  };
  return { work, run };
}

function sizeTask(open: () => Promise<Searched>, scale: Scale): Task {
  const work = `bytes of the index of ${count(scale.large)} messages over bytes of transcripts`;
  const run: Task['run'] = async () => {
    const { store, folder } = await open();
    const { search } = await store.stats({ search: true });
    let limitValue = 0;
    for (let i = 0; i < SESSIONS; i++) limitValue += statSync(transcriptPath(folder, `s${i}`)).size;
    const oursValue = search?.bytes ?? Number.NaN;
    return makeRow({ work, limit: 'transcripts', limitValue, oursValue, unit: 'bytes', goal: 1.5 });
  };
  return { work, run };
}

/** Without an index everything is read, but only what may hold the words is parsed. */
function scanTask(folder: string, scale: Scale): Task {
  const work = `search one session of ${count(scale.large)} messages of 2 KB without an index (p50)`;
  const run: Task['run'] = async () => {
    const home = join(folder, 'unindexed');
    writeSealedSession(home, { id: LONG, messages: scale.large, bytes: 2048 });
    await using store = await openStore({ home, search: 'scan' });
    await takenIn(store);
    const range = wholeFile(transcriptPath(home, LONG));
    const limit = latency('read and parse its file', () => readAndParse(range));
    const ours = latency('search', () => store.search({ text: 'said by nobody', budgetMs: 600_000 }));
    return await compareSlices({ work, limit, ours, goal: 1 }, scale.latency);
  };
  return { work, run };
}

/** What a writer feels of the thread that indexes what it writes. */
function appendTask(folder: string, scale: Scale): Task {
  const work = `durable, ${CALLERS} callers, with an index over without`;
  const run: Task['run'] = async () => {
    const open = async (search: 'index' | 'scan'): Promise<Store> => {
      const store = await openStore({ home: join(folder, `appended-${search}`), search });
      await createSession(store, 0);
      await store.search({ text: 'so that the thread is there' });
      return store;
    };
    await using without = await open('scan');
    await using withIndex = await open('index');
    // What was left over by the slice before, of the index or of the sync of every second, is not the next one's burden.
    const prepare = async (): Promise<void> => {
      await indexed(withIndex);
      await sleep(SETTLE_MS);
    };
    const arm = (name: string, store: Store) =>
      rate(name, 'turns', () => store.append(SESSION, nextTurn()), { callers: CALLERS, prepare });
    const arms = { limit: arm('without', without), ours: arm('with an index', withIndex) };
    return await compareSlices({ work, ...arms, goal: 0.9, better: 'higher' }, scale.rate);
  };
  return { work, run };
}

function count(value: number): string {
  return value.toLocaleString('en');
}
