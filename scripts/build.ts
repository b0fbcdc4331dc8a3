/** Compiles src/ to dist/ for publishing; development runs the sources. */
import { rmSync } from 'node:fs';
import { runSteps } from './steps.ts';

rmSync('dist', { recursive: true, force: true });
runSteps([{ name: 'build', command: ['tsc', '-p', 'tsconfig.build.json'], budgetSeconds: 30 }]);
