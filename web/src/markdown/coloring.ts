import type { Colored } from './highlight.ts';
import workerUrl from './highlight-worker.ts?worker&url';

interface Job {
  readonly code: string;
  readonly language: string;
  readonly signal: AbortSignal;
  readonly onColored: (colored: Colored) => void;
}

/** The highlighter needs the square of the length for some texts, so it runs beside the page and is ended after this. */
const LIMIT_MS = 1000;
const RETRY_MS = 2000;
const MAX_REMEMBERED = 50;

const waiting: Job[] = [];
/** Code that took too long. Scrolling back to it does not start it again. */
const tooSlow: string[] = [];
let worker: Worker | undefined;
let isReady = false;
let running: { readonly job: Job; readonly timer: ReturnType<typeof setTimeout> } | undefined;

/** Calls `onColored` unless the language is unknown, the code takes too long or the signal aborts before. */
export function colorCode(job: Job): void {
  if (tooSlow.includes(job.code)) return;
  waiting.push(job);
  startWorker();
  next();
}

function startWorker(): void {
  if (worker !== undefined) return;
  const started = new Worker(trustedUrl(), { type: 'module' });
  worker = started;
  started.addEventListener('message', ({ data }: MessageEvent<'ready' | { readonly colored?: Colored }>) => {
    if (worker !== started) return;
    if (data === 'ready') isReady = true;
    else finish(data.colored);
    next();
  });
  // Not loaded, for example offline, or failed at a piece of code. Until it is there code has no colors.
  started.addEventListener('error', () => {
    if (worker !== started) return;
    const wasReady = isReady;
    endWorker();
    finish(undefined);
    if (wasReady) restart();
    else setTimeout(restart, RETRY_MS);
  });
}

function endWorker(): void {
  worker?.terminate();
  worker = undefined;
  isReady = false;
}

function restart(): void {
  if (waiting.some(({ signal }) => !signal.aborted)) startWorker();
}

function next(): void {
  if (!isReady || running !== undefined) return;
  let job = waiting.shift();
  while (job?.signal.aborted) job = waiting.shift();
  if (job === undefined) return;
  run(job);
}

function run(job: Job): void {
  const timer = setTimeout(() => {
    tooSlow.push(job.code);
    if (tooSlow.length > MAX_REMEMBERED) tooSlow.shift();
    endWorker();
    finish(undefined);
    restart();
  }, LIMIT_MS);
  running = { job, timer };
  worker?.postMessage({ code: job.code, language: job.language });
}

function finish(colored: Colored | undefined): void {
  if (running === undefined) return;
  const { job, timer } = running;
  running = undefined;
  clearTimeout(timer);
  if (colored !== undefined && !job.signal.aborted) job.onColored(colored);
}

interface TrustedTypes {
  createPolicy(
    name: string,
    rules: { createScriptURL(): string },
  ): { createScriptURL(input: string): string };
}

const trustedTypes = (globalThis as { readonly trustedTypes?: TrustedTypes }).trustedTypes;
/** The one policy that the server's Content-Security-Policy allows: whatever it is asked, it gives this worker (I-70). */
const policy = trustedTypes?.createPolicy('reprise-worker', { createScriptURL: () => workerUrl });

function trustedUrl(): string {
  return policy?.createScriptURL('') ?? workerUrl;
}
