/** An object that pauses on request and continues when the returned function is called. */
export interface Parkable {
  park(): Promise<() => void>;
}

/** If a store takes longer, its disk does not respond; then stop anyway, because a person typed Ctrl-Z. */
const PARK_LIMIT_MS = 6000;
/** Timers do not run while a process is stopped, so this delay passes right after it continues. */
const STOPPED_MS = 50;

const parked = new Set<Parkable>();
let isStopping = false;

/**
 * Makes Ctrl-Z wait for the running transaction: a process stopped inside one would hold the write lock while it is
 * stopped and block all other writers. One listener serves all stores. None is installed if the program has its own
 * SIGTSTP listener. @returns a function that removes the store again.
 */
export function parkBeforeStop(store: Parkable): () => void {
  parked.add(store);
  if (process.listenerCount('SIGTSTP') === 0) process.on('SIGTSTP', onStop);
  return () => {
    parked.delete(store);
    if (parked.size === 0) process.off('SIGTSTP', onStop);
  };
}

function onStop(): void {
  // A listener that was added after ours handles the signal.
  if (isStopping || process.listenerCount('SIGTSTP') > 1) return;
  isStopping = true;
  void stopProcess();
}

async function stopProcess(): Promise<void> {
  const gates = await Promise.all([...parked].map((store) => soon(store.park())));
  // Without a listener the signal has its default effect: it stops the process, or does nothing if no shell could
  // continue it. SIGSTOP would always stop it.
  process.off('SIGTSTP', onStop);
  process.kill(process.pid, 'SIGTSTP');
  setTimeout(() => {
    for (const open of gates) open();
    isStopping = false;
    if (parked.size > 0 && process.listenerCount('SIGTSTP') === 0) process.on('SIGTSTP', onStop);
  }, STOPPED_MS);
}

/** Resolves with the gate, or after a limit with a function that opens the gate once it arrives. */
function soon(gate: Promise<() => void>): Promise<() => void> {
  const { promise, resolve } = Promise.withResolvers<() => void>();
  const timer = setTimeout(() => resolve(() => void gate.then((open) => open())), PARK_LIMIT_MS);
  void gate.then((open) => {
    clearTimeout(timer);
    resolve(open);
  });
  return promise;
}
