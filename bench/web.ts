import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { openStore } from '../src/config/open.ts';
import { Reprise } from '../src/engine/reprise.ts';
import { createOfflineModel } from '../src/models/offline/offline-model.ts';
import { serve } from '../src/server/serve.ts';
import { openBrowser } from '../test/browser/support/browser.ts';
import { findChromium } from '../test/browser/support/chromium.ts';
import { type SealedSession, takenIn, writeSealedSession } from '../test/support/store/sealed-home.ts';
import type { Scale } from './homes.ts';
import { makeRow, median, type Task } from './measure.ts';

const TOKEN = 'a-token-for-measuring-that-is-long-enough';
const QUIET = { info: () => undefined, warn: () => undefined, error: () => undefined };
const FEW = 100;
const BYTES = 600;
/** Messages the context of a long session keeps: the page shows them and some that were compacted. */
const KEPT = 100;

/** The page as a person meets it, in the Chromium of the machine. */
export function webTasks(folder: string, { history, latency }: Scale): Task[] {
  if (findChromium() === undefined) {
    console.error('skipped: the rows of the page in a browser, because there is no Chromium on the PATH');
    return [];
  }
  const many = history.toLocaleString('en');
  return [
    paintTask(join(folder, 'web-paint'), latency.count),
    openTask(`browser: open a session of ${many} messages (p50)`, {
      home: join(folder, 'web-open'),
      rounds: latency.count,
      long: { id: 'long', messages: history, keep: KEPT },
    }),
    openTask(`browser: open a session of ${many} messages that was never compacted (p50)`, {
      home: join(folder, 'web-open-whole'),
      // The bar at the top needs all of it, seconds after the last message is drawn.
      rounds: 3,
      long: { id: 'long', messages: history },
    }),
  ];
}

function paintTask(home: string, rounds: number): Task {
  const work = 'browser: first paint of the page (p50)';
  const run: Task['run'] = async () => {
    await using served = await openServed(home, []);
    const [limit, ours] = await inTurns(rounds, [
      () => firstPaint(served, '/healthz'),
      () => firstPaint(served, `/#token=${TOKEN}`),
    ]);
    return makeRow({
      work,
      limit: 'one line of text from the same server',
      limitValue: limit,
      oursValue: ours,
      unit: 'ms',
      goal: 3,
      note: 'nothing is cached',
    });
  };
  return { work, run };
}

interface OpenOptions {
  readonly home: string;
  readonly rounds: number;
  readonly long: Session;
}

function openTask(work: string, { home, rounds, long }: OpenOptions): Task {
  const run: Task['run'] = async () => {
    await using served = await openServed(home, [{ id: 'short', messages: FEW }, long]);
    const page = await served.browser.newPage();
    await page.goto(`${served.url}/#token=${TOKEN}`);
    await page.getByLabel('Message', { exact: true }).waitFor();
    const [limit, ours] = await inTurns(rounds, [
      () => openSession(page, 'short', FEW),
      () => openSession(page, long.id, long.messages),
    ]);
    return makeRow({
      work,
      limit: `one of ${FEW}`,
      limitValue: limit,
      oursValue: ours,
      unit: 'ms',
      goal: 1.5,
      note: 'from the click until its last message is drawn',
    });
  };
  return { work, run };
}

/** The medians of both, without the first of each, in which the browser starts and the server compiles. */
async function inTurns(
  rounds: number,
  [limit, ours]: readonly [() => Promise<number>, () => Promise<number>],
): Promise<readonly [number, number]> {
  const samples: { limit: number; ours: number }[] = [];
  for (let i = 0; i <= rounds; i++) samples.push({ limit: await limit(), ours: await ours() });
  const counted = samples.slice(1);
  return [median(counted.map((one) => one.limit)), median(counted.map((one) => one.ours))];
}

type Session = Pick<SealedSession, 'id' | 'messages' | 'keep'>;

interface Served extends AsyncDisposable {
  readonly browser: Browser;
  readonly url: string;
}

async function openServed(home: string, sessions: readonly Session[]): Promise<Served> {
  for (const session of sessions) writeSealedSession(home, { ...session, bytes: BYTES });
  const store = await openStore({ kind: 'jsonl', home, durability: 'os' });
  await takenIn(store);
  const reprise = new Reprise({ store, model: createOfflineModel(), compaction: { background: false } });
  const served = await serve({ reprise, config: { port: 0, token: TOKEN }, logger: QUIET });
  const browser = await openBrowser();
  return {
    browser,
    url: served.url,
    [Symbol.asyncDispose]: async () => {
      await browser.close();
      await served.close();
      await reprise[Symbol.asyncDispose]();
    },
  };
}

/** In a new profile, so that nothing is cached. */
async function firstPaint({ browser, url }: Served, path: string): Promise<number> {
  const page = await browser.newPage();
  await page.goto(url + path);
  const ms = await page.evaluate<number>(`new Promise((resolve) => {
    new PerformanceObserver((list) => {
      const [entry] = list.getEntriesByName('first-contentful-paint');
      if (entry !== undefined) resolve(entry.startTime);
    }).observe({ type: 'paint', buffered: true });
  })`);
  await page.close();
  return ms;
}

/** From an empty chat, as a click on its row would; then everything else it asks for is waited for. */
async function openSession(page: Page, id: string, messages: number): Promise<number> {
  await page.evaluate(`location.hash = '#/'`);
  await page.locator('.welcome').waitFor();
  const facts = ['context', 'pins'].map((name) =>
    page.waitForResponse((answer) => answer.url().endsWith(`/${id}/${name}`), { timeout: 0 }),
  );
  const last = JSON.stringify(`message ${messages - 1} `);
  // In the page, so that the way between the two processes is not measured.
  const ms = await page.evaluate<number>(`new Promise((resolve) => {
    const start = performance.now();
    const observer = new MutationObserver(() => {
      if (!(document.querySelector('.messages')?.textContent ?? '').includes(${last})) return;
      observer.disconnect();
      requestAnimationFrame(() => resolve(performance.now() - start));
    });
    observer.observe(document.body, { childList: true, subtree: true, characterData: true });
    location.hash = '#/s/main/${id}';
  })`);
  await Promise.all(facts);
  return ms;
}
