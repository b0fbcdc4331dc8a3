/** In every test file: see kept-worker.ts. */
import { startThreadsBy } from '../../../src/store/sqlite/threads/start-thread.ts';
import { Worker } from './kept-worker.ts';

startThreadsBy((file, options) => new Worker(file, options));
