import { defineConfig, type ViteUserConfig } from 'vitest/config';

const config: ViteUserConfig = defineConfig({
  // Node runs all of it as it is; lowered, `using` would need a helper module.
  oxc: { target: 'esnext' },
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/interop/**'],
    testTimeout: 60_000,
  },
});

export default config;
