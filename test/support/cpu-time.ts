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

/** The same for all threads of this process, where the work is done by another than the one that waits for it. */
export function processTimer(): () => number {
  const start = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(start);
    return (user + system) / 1000;
  };
}
