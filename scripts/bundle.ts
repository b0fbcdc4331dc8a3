import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { build, type InlineConfig } from 'vite';

/** Packages that are part of the command's own files: each costs a start tens of files. All others stay where npm puts them. */
const BUNDLED = [
  'commander',
  'zod',
  'hono',
  '@hono/node-server',
  '@hono/zod-openapi',
  '@hono/zod-validator',
  '@asteasolutions/zod-to-openapi',
  'openapi3-ts',
  'pino',
];

const NOTHING = '\0nothing';

// Each group is one file: the modules that match, and everything they import. A module that several groups reach goes to
// the one with the highest priority.
/** Start-up, and `ls`, which has to be fast. */
const FIRST =
  /src\/(?:cli\/(?:main|backend\/local-lister|commands\/ls)|store\/(?:jsonl|sqlite)\/open-index)\.ts$/;
/** Opening a store. */
const STORE = /src\/(?:cli\/commands\/serve|store\/jsonl\/open)\.ts$/;
const MODEL = /src\/models\/offline\/offline-model\.ts$/;
/** Most commands need the engine. It must not share a file with the server or with zod, which most of them do not need. */
const ENGINE = /src\/(?:config\/open-configured|engine\/.*|transcript\/.*)\.ts$/;
const SETTINGS = /src\/config\/check-settings\.ts$/;
const SERVER = /src\/cli\/commands\/serve-parts\.ts$/;

/**
 * The command in few files, because finding and linking modules is most of its start. Each storage thread is
 * a separate file: it shares nothing with the main thread but its name.
 */
export async function bundleCommand(outDir: string): Promise<void> {
  const bundled = new Set<string>();
  await bundle(outDir, { main: 'src/cli/main.ts' }, bundled, [
    { name: 'first', test: FIRST, priority: 4 },
    { name: 'store', test: STORE, priority: 3 },
    { name: 'model', test: MODEL, priority: 2 },
    { name: 'engine', test: ENGINE, priority: 2 },
    { name: 'settings', test: SETTINGS, priority: 1 },
    { name: 'server', test: SERVER, priority: 0 },
  ]);
  await bundleThreads(outDir, bundled);
  writeFileSync(join(outDir, 'package.json'), '{ "type": "commonjs" }\n');
  writeFileSync(join(outDir, 'LICENSES.txt'), licensesOf(bundled));
}

/** Each thread in one file that imports nothing but Node: bundlers of programs that use the library may copy it anywhere. */
export async function bundleThreads(outDir: string, bundled: Set<string> = new Set()): Promise<void> {
  for (const thread of ['thread', 'search-thread'])
    await bundle(outDir, { [thread]: `src/store/sqlite/threads/${thread}.ts` }, bundled, undefined, 'cjs');
}

type Groups = readonly { readonly name: string; readonly test: RegExp; readonly priority: number }[];

async function bundle(
  outDir: string,
  input: Readonly<Record<string, string>>,
  bundled: Set<string>,
  groups?: Groups,
  extension: 'js' | 'cjs' = 'js',
): Promise<void> {
  const config: InlineConfig = {
    configFile: false,
    publicDir: false,
    logLevel: 'warn',
    build: {
      ssr: true,
      target: 'node24',
      outDir: resolve(outDir),
      emptyOutDir: false,
      minify: false,
      rolldownOptions: {
        input,
        output: {
          // An import of a built-in module touches everything it offers, which loads half of Node; a require does not.
          format: 'cjs',
          entryFileNames: `[name].${extension}`,
          chunkFileNames: '[name]-[hash].js',
          codeSplitting: groups === undefined ? false : { groups: [...groups] },
        },
      },
    },
    ssr: { target: 'node', noExternal: BUNDLED },
    plugins: [
      {
        // commander starts programs for subcommands that are files, which our commands are not.
        name: 'no-child-process',
        enforce: 'pre',
        resolveId: (id, importer) =>
          id === 'node:child_process' && importer?.includes('/commander/') === true ? NOTHING : undefined,
        load: (id) => (id === NOTHING ? 'export default {};' : undefined),
      },
      {
        name: 'bundled-packages',
        generateBundle: (_, files) => {
          for (const file of Object.values(files))
            for (const id of file.type === 'chunk' ? file.moduleIds : []) {
              const [, name] = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(id) ?? [];
              if (name !== undefined) bundled.add(name);
            }
        },
      },
    ],
  };
  await build(config);
}

/** Their licences ask to come along. */
function licensesOf(packages: ReadonlySet<string>): string {
  return [...packages]
    .sort()
    .map((name) => {
      const folder = join('node_modules', name);
      const file = readdirSync(folder).find((each) => /^licen[sc]e/i.test(each));
      const { version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
        version: string;
        license: string;
      };
      const text = file === undefined ? `License: ${license}\n` : readFileSync(join(folder, file), 'utf8');
      return `${name} ${version}\n\n${text}`;
    })
    .join(`\n${'-'.repeat(78)}\n\n`);
}
