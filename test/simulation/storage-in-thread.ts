import { registerHooks } from 'node:module';

/** Loaded before a program (`node --import`): its stores run in its own thread, as in-thread-worker.ts says. */
const standIn = new URL('./in-thread-worker.ts', import.meta.url).href;

registerHooks({
  resolve: (name, context, next) =>
    name === 'node:worker_threads' ? { url: standIn, shortCircuit: true } : next(name, context),
});
