import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ListQuery } from '../src/store/port/store.ts';
import {
  boundContext,
  type Home,
  type Homes,
  LARGE,
  type Scale,
  SESSION,
  WINDOW,
  windowBytes,
} from './homes.ts';
import { compareSlices, latency, makeRow, median, quantile, rate, show, type Task } from './measure.ts';
import { nextTurn } from './payload.ts';
import { readAndParse, wholeFile } from './raw.ts';

const SHORT_HISTORY = 1000;
const FEW_SESSIONS = 1000;
const PAGE = 50;
const PAGE_GOAL_MS = 5;
const DELAY_GOAL_MS = 20;
const MEMORY_GOAL_MB = 20;
const APPENDERS = 16;

/** What looking costs, and what the main thread feels of all of it. */
export function readTasks(homes: Homes, scale: Scale): Task[] {
  const { history, sessions, scan } = scale;
  return [
    windowTask(homes, scale, SHORT_HISTORY),
    windowTask(homes, scale, history),
    warmTask(homes, scale),
    memoryTask(homes, scale),
    windowGrowthTask(homes, scale, 'jsonl'),
    windowGrowthTask(homes, scale, 'sqlite'),
    scanTask(homes, scale, scan),
    ...LISTS.map((query) => newestTask(homes, scale, sessions, query)),
    delayTask(homes, scale),
  ];
}

function windowTask(homes: Homes, scale: Scale, history: number): Task {
  const work = `open for a turn, window of ${WINDOW} messages, history ${count(history)} (p50)`;
  const run: Task['run'] = async () => {
    const home = await homes.history(history);
    await boundContext(home);
    const range = await windowBytes(home);
    const limit = latency('read and parse those bytes', () => readAndParse(range));
    const ours = latency('tail', () => home.store.tail(SESSION));
    return await compareSlices({ work, limit, ours, goal: 10 }, scale.latency);
  };
  return { work, run };
}

/** The next turn of the same session, which need not be read again. */
function warmTask(homes: Homes, scale: Scale): Task {
  const work = `open for the next turn, window of ${WINDOW} messages, warm over cold (p50)`;
  const run: Task['run'] = async () => {
    const [cold, warm] = [
      await homes.history(SHORT_HISTORY),
      await homes.history(SHORT_HISTORY, 'jsonl', { warm: true }),
    ];
    await boundContext(cold);
    await boundContext(warm);
    const limit = latency('cold', () => cold.store.tail(SESSION));
    const ours = latency('warm', () => warm.store.tail(SESSION));
    return await compareSlices({ work, limit, ours, goal: 1 }, scale.latency);
  };
  return { work, run };
}

/** What a process that reads the end of a session holds, in processes of their own. */
function memoryTask(homes: Homes, { history }: Scale): Task {
  const work = `memory of a process with the window of ${count(history)} messages over of ${count(SHORT_HISTORY)}`;
  const run: Task['run'] = async () => {
    const rssOf = async (messages: number): Promise<number> => {
      const home = await homes.history(messages);
      await boundContext(home);
      return peakMegabytes(home.folder, `await store.tail('${SESSION}')`);
    };
    const values = { limitValue: await rssOf(SHORT_HISTORY), oursValue: await rssOf(history) };
    const note = `goal: within ${MEMORY_GOAL_MB} MB`;
    const goal = Number((1 + MEMORY_GOAL_MB / values.limitValue).toFixed(2));
    return makeRow({ work, limit: `of ${count(SHORT_HISTORY)}`, ...values, unit: 'MB', goal, note });
  };
  return { work, run };
}

function peakMegabytes(home: string, work: string): number {
  const script = `
    import { openStore } from './src/config/open.ts';
    const store = await openStore({ home: ${JSON.stringify(home)} });
    ${work};
    console.log(process.resourceUsage().maxRSS / 1024);
    await store[Symbol.asyncDispose]();
  `;
  const options = { encoding: 'utf8', cwd: join(import.meta.dirname, '..') } as const;
  return Number(execFileSync(process.execPath, ['--input-type=module', '-e', script], options));
}

function windowGrowthTask(homes: Homes, scale: Scale, kind: 'jsonl' | 'sqlite'): Task {
  const work = `open for a turn, history ${count(scale.history)} over ${count(SHORT_HISTORY)}, ${kind} (p50)`;
  const run: Task['run'] = async () => {
    const tailOf = async (messages: number): Promise<() => Promise<unknown>> => {
      const home = await homes.history(messages, kind);
      await boundContext(home);
      return () => home.store.tail(SESSION);
    };
    const limit = latency(`history ${count(SHORT_HISTORY)}`, await tailOf(SHORT_HISTORY));
    const ours = latency('tail', await tailOf(scale.history));
    return await compareSlices({ work, limit, ours, goal: 1.3 }, scale.latency);
  };
  return { work, run };
}

function scanTask(homes: Homes, scale: Scale, messages: number): Task {
  const work = `full scan: verify one session of ${count(messages)} messages (p50)`;
  const run: Task['run'] = async () => {
    const { store, transcript } = await homes.history(messages);
    const range = wholeFile(transcript(SESSION));
    const limit = latency('read and parse the file', () => readAndParse(range));
    const ours = latency('verify', () => store.verify(SESSION));
    return await compareSlices({ work, limit, ours, goal: 1.5 }, scale.latency);
  };
  return { work, run };
}

/** All, one agent's, and a text that nearly every title holds: each is a page of fifty. */
const LISTS: readonly ListQuery[] = [
  {},
  { agentId: 'main' },
  { status: 'any' },
  { text: 'message' },
  { sort: 'messages' },
  { sort: 'tokens' },
];

function newestTask(homes: Homes, scale: Scale, sessions: number, query: ListQuery): Task {
  const few = Math.min(FEW_SESSIONS, sessions / 10);
  const by = Object.entries(query).map(([name, value]) => `, ${name} ${value}`);
  const work = `newest ${PAGE} sessions of ${count(sessions)} over of ${count(few)}${by.join('')} (p50)`;
  const run: Task['run'] = async () => {
    const page = ({ store }: Home) => store.list({ limit: PAGE, ...query });
    const [small, large] = [await homes.sessions(few), await homes.sessions(sessions)];
    const limit = latency(`of ${count(few)}`, () => page(small));
    const ours = latency('list', () => page(large));
    const note = (values: { readonly ours: number }): string =>
      `${verdict(values.ours, PAGE_GOAL_MS)}: ${show(values.ours, 'ms')}, goal <= ${PAGE_GOAL_MS} ms`;
    return await compareSlices({ work, limit, ours, goal: 1.5, note }, scale.latency);
  };
  return { work, run };
}

/** Appending, listing and searching at once; the loop of the main thread has to stay free for everything else. */
function delayTask(homes: Homes, scale: Scale): Task {
  const work = `event-loop delay with ${count(scale.sessions)} sessions and one of ${count(scale.large)} messages: append, list, search, read (p99)`;
  const run: Task['run'] = async () => {
    const { store } = await homes.sessions(scale.sessions, scale.large);
    const { count: slices, ms } = scale.rate;
    const listed: number[] = [];
    const loads = [
      rate('append', 'turns', () => store.append(SESSION, nextTurn()), { callers: APPENDERS }),
      rate('search', 'searches', () => store.search({ text: 'said by nobody' }), { callers: 1 }),
      latency('list', () => store.list({ limit: PAGE })),
      latency('read', () => store.read(LARGE, { direction: 'backward' })),
    ];
    const delays: { idle: number[]; loaded: number[] } = { idle: [], loaded: [] };
    for (let i = 0; i < slices; i++) {
      delays.idle.push(await delayOf(() => sleep(ms)));
      const load = async (): Promise<void> => {
        const [, , lists] = await Promise.all(loads.map(({ slice }) => slice(ms)));
        listed.push(...(lists ?? []));
      };
      delays.loaded.push(await delayOf(load));
    }
    const note = `idle ${show(median(delays.idle), 'ms')}; a list meanwhile p99 ${show(quantile(listed, 0.99), 'ms')}`;
    const values = { limitValue: DELAY_GOAL_MS, oursValue: median(delays.loaded) };
    return makeRow({ work, limit: 'allowed', ...values, unit: 'ms', goal: 1, note });
  };
  return { work, run };
}

const RESOLUTION_MS = 1;

/** Milliseconds that 99 % of timers were late at most. The monitor counts its own interval in. */
async function delayOf(work: () => Promise<unknown>): Promise<number> {
  const monitor = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  monitor.enable();
  await work();
  monitor.disable();
  return Math.max(0, monitor.percentile(99) / 1e6 - RESOLUTION_MS);
}

function verdict(value: number, goal: number): string {
  return value <= goal ? 'met' : 'MISSED';
}

function count(value: number): string {
  return value.toLocaleString('en');
}
