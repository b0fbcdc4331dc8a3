/** So often two are compared, at least and at most. */
const [MIN_ROUNDS, MAX_ROUNDS] = [5, 500];

/**
 * Measures the work of this thread in milliseconds of its processor: what must not take long is measured by what it
 * does, because on a busy machine everything waits.
 */
export function cpuTimer(): () => number {
  const start = process.threadCpuUsage();
  return () => {
    const { user, system } = process.threadCpuUsage(start);
    return (user + system) / 1000;
  };
}

/**
 * The shortest time each of two takes, by turns, until they are as they should be or that has been tried often. A
 * busy machine makes some runs of anything slow, and cannot make any of them quicker than it is.
 */
export async function shortest(
  one: () => unknown,
  other: () => unknown,
  isEnough: (one: number, other: number) => boolean,
): Promise<readonly [number, number]> {
  const best: [number, number] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let round = 0; round < MIN_ROUNDS || (round < MAX_ROUNDS && !isEnough(...best)); round++) {
    for (const [at, work] of [one, other].entries()) {
      const start = performance.now();
      await work();
      best[at as 0 | 1] = Math.min(best[at as 0 | 1], performance.now() - start);
    }
  }
  return best;
}
