import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin, type UserConfig } from 'vite';

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** Where the code in `marked` starts that turns tokens into HTML, which the page never uses. */
const RENDERING = 'var Y=class{';
const LEXER = 'O as Lexer';

/** HTTP status, exit code and default message in the error table, which the page does not use. */
const ELSEWHERE = /row\(\s*(?:null|\d+),\s*\d+,(\s*\w+,\s*)'(?:[^'\\]|\\.)*'/g;

/**
 * Removes code that the page does not need and the bundler cannot detect: the half of `marked` that writes HTML (a
 * function that runs at startup refers to it), Vite's helper that preloads styles of chunks, and part of the error
 * table.
 */
const lighter: Plugin = {
  name: 'lighter',
  enforce: 'pre',
  transform(code, id) {
    if (id.includes('vite/preload-helper')) return 'export const __vitePreload = (load) => load();';
    if (id === at('../src/errors.ts')) return code.replace(ELSEWHERE, "row(0,0,$1''");
    if (!id.endsWith('marked/lib/marked.esm.js')) return null;
    const end = code.indexOf(RENDERING);
    // The version of `marked` is pinned, so this fails only when it is updated.
    if (end < 0 || !code.includes(LEXER))
      throw new Error('marked has changed: see lighter in vite.config.ts');
    return `${code.slice(0, end)}export { ${LEXER} };`;
  },
};

const FILE_OF_ITS_OWN = '?file';

/**
 * `import url from './chinese.ts?file'` returns the address of a bundle of that module. A browser never retries a
 * module address that failed once, so the caller must be able to add a query to it, which `import()` does not allow.
 */
const fileUrls: Plugin = {
  name: 'file-urls',
  enforce: 'pre',
  async resolveId(source, importer) {
    if (!source.endsWith(FILE_OF_ITS_OWN)) return null;
    const found = await this.resolve(source.slice(0, -FILE_OF_ITS_OWN.length), importer);
    return found && `\0${found.id}${FILE_OF_ITS_OWN}`;
  },
  load(id) {
    if (!id.endsWith(FILE_OF_ITS_OWN)) return null;
    const module = id.slice(1, -FILE_OF_ITS_OWN.length);
    const file = this.emitFile({ type: 'chunk', id: module, preserveSignature: 'strict' });
    return `export default import.meta.ROLLUP_FILE_URL_${file};`;
  },
};

const COPY = '?copy';

/**
 * The page and the file with all English texts share a few modules. The file gets copies of them (2 KB), because the
 * bundler would otherwise move them into a script of their own, without which the page could not start.
 */
const copiedTexts: Plugin = {
  name: 'copied-texts',
  enforce: 'pre',
  async resolveId(source, importer) {
    if (importer !== at('../src/messages/english.ts') && importer?.endsWith(COPY) !== true) return null;
    const found = await this.resolve(source, importer.replace(COPY, ''), { skipSelf: true });
    return found && `${found.id}${COPY}`;
  },
};

const config: UserConfig = defineConfig({
  root: at('.'),
  // Relative, so that the page works under any path that a proxy adds.
  base: './',
  resolve: {
    alias: {
      'reprise/client': at('../src/client/index.ts'),
      'reprise/messages': at('../src/messages/english.ts'),
    },
  },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  plugins: [lighter, fileUrls, copiedTexts],
  worker: { format: 'es' },
  build: {
    outDir: at('../dist/web'),
    emptyOutDir: true,
    target: 'es2023',
    // A data: URL would need another exception in the Content Security Policy.
    assetsInlineLimit: 0,
    modulePreload: false,
    reportCompressedSize: false,
    rolldownOptions: { checks: { bundlerTimings: false } },
  },
  logLevel: 'warn',
});

export default config;
