import { fileURLToPath } from 'node:url';
import { defineConfig, type UserConfig } from 'vite';

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** No plugin: TypeScript and JSX are all there is to translate. */
const config: UserConfig = defineConfig({
  root: at('.'),
  // Relative, so that it works under whatever path a proxy gives it.
  base: './',
  resolve: { alias: { 'reprise/client': at('../src/client/index.ts') } },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: at('../dist/web'),
    emptyOutDir: true,
    target: 'es2023',
    // A data: URL would be one more thing the policy has to allow.
    assetsInlineLimit: 0,
    modulePreload: false,
    reportCompressedSize: false,
  },
  logLevel: 'warn',
});

export default config;
