import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin, type UserConfig } from 'vite';

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** Where the parts of `marked` begin that turn tokens into HTML; nothing here ever does. */
const RENDERING = 'var Y=class{';
const LEXER = 'O as Lexer';

/** Of a row in the table of errors: status, exit code and sentence are for the server, the command line and the documents. */
const ELSEWHERE = /row\(\s*(?:null|\d+),\s*\d+,(\s*\w+,\s*)'(?:[^'\\]|\\.)*'/g;

/**
 * Three things nobody here needs and no bundler can see that: the half of `marked` that writes HTML, which hangs on a
 * function it fills at its start; Vite's helper that preloads styles for chunks, of which there are none; the half of the table
 * of errors.
 */
const lighter: Plugin = {
  name: 'lighter',
  enforce: 'pre',
  transform(code, id) {
    if (id.includes('vite/preload-helper')) return 'export const __vitePreload = (load) => load();';
    if (id === at('../src/errors.ts')) return code.replace(ELSEWHERE, "row(0,0,$1''");
    if (!id.endsWith('marked/lib/marked.esm.js')) return null;
    const end = code.indexOf(RENDERING);
    // Pinned exactly, so this is met by whoever renews it and by nobody else.
    if (end < 0 || !code.includes(LEXER))
      throw new Error('marked has changed: see lighter in vite.config.ts');
    return `${code.slice(0, end)}export { ${LEXER} };`;
  },
};

/** What reading and writing do not need, by what it is asked for with. */
const LATER =
  /marked|highlight|strings-zh|strings-en-later|sign-in|src\/keys\.ts|facet-form|facet-fields|dialog\.tsx|all-dialogs|snippet|branches\.ts|chat\/steps\.ts|steps-door|part-name|menu-entries|attachments|slash-menu|menu-icons|pictures|channel-choices|context-panel|recall-report|member-sessions|nothing-here|banners|own-words|src\/chats\/|src\/stats\//;

const config: UserConfig = defineConfig({
  root: at('.'),
  // Relative, so that it works under whatever path a proxy gives it.
  base: './',
  resolve: { alias: { 'reprise/client': at('../src/client/index.ts') } },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  plugins: [lighter],
  build: {
    outDir: at('../dist/web'),
    emptyOutDir: true,
    target: 'es2023',
    // A data: URL would be one more thing the policy has to allow.
    assetsInlineLimit: 0,
    modulePreload: false,
    reportCompressedSize: false,
    // One file for the first load: its parts pack better together, and nothing waits for a second round.
    rolldownOptions: {
      // How long a build takes on a busy machine is no news to whoever starts the server.
      checks: { bundlerTimings: false },
      output: { codeSplitting: { groups: [{ name: 'first', test: (id) => !LATER.test(id) }] } },
    },
  },
  logLevel: 'warn',
});

export default config;
