import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig, type ViteUserConfig } from 'vitest/config';
import { ownSources } from './scripts/own-sources.ts';
import { LongestFirst } from './test/support/longest-first.ts';
import { bundledPrograms } from './test/support/processes/bundled-programs.ts';

const config: ViteUserConfig = defineConfig({
  // Node runs all of it as it is; lowered, `using` would need a helper module.
  oxc: { target: 'esnext', jsx: { runtime: 'automatic', importSource: 'preact' } },
  resolve: {
    alias: Object.entries(ownSources()).map(([name, url]) => ({
      find: new RegExp(`^${name}$`),
      replacement: fileURLToPath(url),
    })),
  },
  plugins: [await bundledPrograms()],
  test: {
    include: ['test/**/*.test.ts'],
    tags: [
      { name: 'long', description: 'Not part of `npm test`; `npm run test:rest` runs it.' },
      { name: 'scaled', description: 'Short in `npm test`; `npm run test:rest` runs it in full.' },
    ],
    exclude: ['test/clients/**', 'test/browser-newer/**'],
    // For what hangs, not for a machine that has much else to do: the budgets of the suites say what is too slow.
    testTimeout: 180_000,
    // The first that needs a database waits for its server.
    hookTimeout: 180_000,
    // Starts nothing until a test asks for it.
    globalSetup: 'test/support/postgres/postgres-setup.ts',
    setupFiles: 'test/support/store/use-kept-threads.ts',
    sequence: { sequencer: LongestFirst },
    // Polls are waits, not measurements.
    expect: { poll: { timeout: 60_000 } },
    // On two cores the default is one worker; half of the time is spent waiting for disks and processes.
    maxWorkers: Math.max(4, availableParallelism() - 1),
    // Node strips types by WebAssembly in every thread, and V8 loses count of such code pages where the processor
    // can protect them: thousands of short-lived threads end in a crash of V8 itself.
    execArgv: ['--no-memory-protection-keys'],
  },
});

export default config;
