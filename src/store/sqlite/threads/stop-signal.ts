/** What stands still on request, and goes on when the answer is called. */
export interface Parkable {
  park(): Promise<() => void>;
}

/** A store that takes longer has a disk that does not answer; then the person who typed Ctrl-Z comes first. */
const PARK_LIMIT_MS = 6000;
/** Time does not pass for a stopped process: this is over at once after it continues. */
const STOPPED_MS = 50;

const parked = new Set<Parkable>();
let isStopping = false;

/**
 * From now on Ctrl-Z waits for the transaction in progress: a process stopped within one would hold the write lock
 * for as long as it is stopped, and nobody else could write. One listener serves all stores, and none is installed
 * where the program has its own: SIGTSTP is then its business. Answers with what takes it back.
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
  // A listener that came after ours has taken over.
  if (isStopping || process.listenerCount('SIGTSTP') > 1) return;
  isStopping = true;
  void stopProcess();
}

async function stopProcess(): Promise<void> {
  const gates = await Promise.all([...parked].map((store) => soon(store.park())));
  // Without a listener the signal does what it always does: it stops the process, or nothing where no shell could
  // continue it. That is why it is not SIGSTOP.
  process.off('SIGTSTP', onStop);
  process.kill(process.pid, 'SIGTSTP');
  setTimeout(() => {
    for (const open of gates) open();
    isStopping = false;
    if (parked.size > 0 && process.listenerCount('SIGTSTP') === 0) process.on('SIGTSTP', onStop);
  }, STOPPED_MS);
}

/** The gate, or after a while one that opens itself when it comes. */
function soon(gate: Promise<() => void>): Promise<() => void> {
  const { promise, resolve } = Promise.withResolvers<() => void>();
  const timer = setTimeout(() => resolve(() => void gate.then((open) => open())), PARK_LIMIT_MS);
  void gate.then((open) => {
    clearTimeout(timer);
    resolve(open);
  });
  return promise;
}
