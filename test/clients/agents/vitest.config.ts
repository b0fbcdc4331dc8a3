import { defineConfig, type ViteUserConfig } from 'vitest/config';

const config: ViteUserConfig = defineConfig({
  // Node runs all of it as it is; lowered, `using` would need a helper module.
  oxc: { target: 'esnext' },
  test: {
    root: import.meta.dirname,
    include: ['*.test.ts'],
    testTimeout: 120_000,
    // One agent at a time: each takes most of a core.
    fileParallelism: false,
  },
});

export default config;
