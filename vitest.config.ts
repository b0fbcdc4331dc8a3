import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig, type ViteUserConfig } from 'vitest/config';
import { bundledPrograms } from './test/support/bundled-programs.ts';
import { LongestFirst } from './test/support/longest-first.ts';

const config: ViteUserConfig = defineConfig({
  // Node runs all of it as it is; lowered, `using` would need a helper module.
  oxc: { target: 'esnext', jsx: { runtime: 'automatic', importSource: 'preact' } },
  resolve: { alias: { 'reprise/client': fileURLToPath(new URL('src/client/index.ts', import.meta.url)) } },
  plugins: [await bundledPrograms()],
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/interop/**'],
    // Ends what hangs, and measures nothing: a busy machine takes many times as long. Longer than its waits together.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    // Starts nothing until a test asks for it.
    globalSetup: 'test/support/postgres-setup.ts',
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
