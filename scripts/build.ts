/** Compiles src/ to dist/ and the page to dist/web for publishing; development runs the sources. */
import { copyFileSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { buildWeb } from './build-web.ts';
import { bundleCommand, bundleThreads } from './bundle.ts';
import { runSteps } from './steps.ts';

rmSync('dist', { recursive: true, force: true });
runSteps([{ name: 'build', command: ['tsc', '-p', 'tsconfig.build.json'], budgetSeconds: 30 }]);

// The crash kit compiles its C sources where it runs.
for (const file of readdirSync('testing', { recursive: true, encoding: 'utf8' })) {
  if (file.endsWith('.c')) copyFileSync(join('testing', file), join('dist/testing', file));
}

for (const thread of ['thread', 'search-thread'])
  for (const extension of ['js', 'd.ts'])
    rmSync(join('dist/src/store/sqlite/threads', `${thread}.${extension}`), { force: true });
await bundleThreads('dist/src/store/sqlite/threads');

// No program imports the command: it is run, from files made for starting.
rmSync(join('dist/src', 'cli'), { recursive: true });
await bundleCommand(join('dist', 'command'));
await buildWeb();
