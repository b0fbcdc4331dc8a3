import { setTimeout as wait } from 'node:timers/promises';
import { RepriseError } from '../../src/errors.ts';
import type { Answer, DriverProcess } from './driver-process.ts';
import { appendCommand, type History } from './history.ts';
import { createRandom, type Random } from './random.ts';

export interface LoadOptions {
  readonly drivers: readonly DriverProcess[];
  readonly sessions: readonly [string, ...string[]];
  readonly history: History;
  readonly seed: number;
  /** Appends in flight per driver. */
  readonly window?: number;
  /** Size of a text in bytes; small texts are as likely as large ones. */
  readonly minBytes?: number;
  readonly maxBytes?: number;
}

/** Appends until it is stopped or its driver dies. */
export interface Load {
  readonly acknowledged: number;
  /** Resolves with true when that many appends were acknowledged, with false at the deadline. */
  reach(acknowledged: number, deadlineMs: number): Promise<boolean>;
  /** Sends nothing more and waits for the answers. */
  stop(): Promise<void>;
  /** The last refusal, to explain a load that makes no progress. */
  readonly refusal: Answer | undefined;
}

const MULTI_ENTRY = 0.2;
const MAX_ENTRIES = 5;
const REFUSED_WAIT_MS = 5;

export function startLoad(options: LoadOptions): Load {
  const { drivers, sessions, history, seed, window = 4, minBytes = 100, maxBytes = 200_000 } = options;
  const waiting = new Set<{ readonly goal: number; readonly resolve: (reached: boolean) => void }>();
  let acknowledged = 0;
  let stopping = false;
  let refusal: Answer | undefined;

  const count = (): void => {
    acknowledged += 1;
    for (const waiter of waiting) {
      if (acknowledged < waiter.goal) continue;
      waiting.delete(waiter);
      waiter.resolve(true);
    }
  };
  const writer = async (driver: DriverProcess, random: Random): Promise<void> => {
    while (!stopping) {
      const entries = random.chance(MULTI_ENTRY) ? random.integer(2, MAX_ENTRIES) : 1;
      const sizes = Array.from({ length: entries }, () => random.skewed(minBytes, maxBytes));
      const attempt = history.begin({ session: random.pick(sessions), sizes });
      const answer = await driver.send(appendCommand(attempt));
      history.settle(attempt.key, answer);
      if (answer.details?.['died'] === true) return;
      if (answer.ok) {
        count();
      } else {
        refusal = answer;
        await wait(REFUSED_WAIT_MS);
      }
    }
  };
  // Each writer has its own random choices, so that the order of answers does not change them.
  const writers = drivers.flatMap((driver, at) =>
    Array.from({ length: window }, (_, lane) => writer(driver, createRandom(seed * 1000 + at * 100 + lane))),
  );

  return {
    get acknowledged() {
      return acknowledged;
    },
    get refusal() {
      return refusal;
    },
    reach(goal, deadlineMs) {
      if (acknowledged >= goal) return Promise.resolve(true);
      return new Promise((resolve) => {
        const waiter = {
          goal,
          resolve: (reached: boolean): void => {
            clearTimeout(timer);
            resolve(reached);
          },
        };
        const timer = setTimeout(() => {
          waiting.delete(waiter);
          resolve(false);
        }, deadlineMs);
        waiting.add(waiter);
      });
    },
    async stop() {
      stopping = true;
      await Promise.all(writers);
    },
  };
}

export interface RetryOptions {
  readonly deadlineMs?: number;
  /** Also retry this many acknowledged appends; their answers must be the same as the first time. */
  readonly acknowledged?: number;
}

/** Retries every unknown append with its key until its outcome is known. @returns how many there were. */
export async function retryUnknown(
  history: History,
  driver: DriverProcess,
  { deadlineMs = 20_000, acknowledged = 0 }: RetryOptions = {},
): Promise<number> {
  const unknown = history.unknown();
  const known = [...history.attempts.values()].filter(({ outcome }) => outcome === 'ok');
  const deadline = performance.now() + deadlineMs;
  for (const attempt of [...unknown, ...known.slice(known.length - acknowledged)]) {
    for (;;) {
      const answer = await driver.send(appendCommand(attempt));
      if (history.settle(attempt.key, answer).outcome === 'ok' && answer.ok) break;
      if (performance.now() > deadline || answer.details?.['died'] === true) {
        throw new RepriseError('STORE_FAILED', `${attempt.key} cannot be retried`, { details: { answer } });
      }
      await wait(REFUSED_WAIT_MS);
    }
  }
  return unknown.length;
}
