import { vi } from 'vitest';
import { testSeeds } from './test-seeds.ts';

vi.mock('node:worker_threads', () => import('./in-thread-worker.ts'));

testSeeds(1, 2);
