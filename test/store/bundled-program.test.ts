import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { build } from 'vite';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { BUNDLED } from '../support/processes/bundled-command.ts';

let folder = '';
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'reprise-bundle-'));
  writeFileSync(
    join(folder, 'program.ts'),
    `import { openReprise } from ${JSON.stringify(resolve('src/config/open-reprise.ts'))};
const run = async () => {
  await using reprise = await openReprise({ home: process.argv[2] });
  const session = await reprise.session('agent:main:main');
  console.log((await session.send(process.argv[3]).result).text);
};
run().catch(({ code, message, details }) => console.log(code, message, details.next));
`,
  );
  await build({
    configFile: false,
    logLevel: 'error',
    ssr: { noExternal: true },
    build: {
      ...{ ssr: true, target: 'esnext', minify: false, outDir: join(folder, 'out') },
      rolldownOptions: {
        input: join(folder, 'program.ts'),
        output: { codeSplitting: false, entryFileNames: 'program.mjs' },
        external: ['pg-native'],
      },
    },
  });
}, 60_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const talk = (text: string): string =>
  execFileSync(process.execPath, [join(folder, 'out/program.mjs'), join(folder, 'home'), text], {
    cwd: folder,
    encoding: 'utf8',
  });

test('a program in one file finds the threads beside it or in the installed package, else says what to copy', () => {
  expect(talk('hello')).toMatch(
    /^STORE_FAILED the file thread\.cjs of the storage threads is missing .*copy thread\.cjs/,
  );

  const installed = join(folder, 'node_modules/reprise');
  const threads = join(installed, 'dist/src/store/sqlite/threads');
  mkdirSync(threads, { recursive: true });
  cpSync('package.json', join(installed, 'package.json'));
  for (const file of ['thread.cjs', 'search-thread.cjs']) cpSync(join(BUNDLED, file), join(threads, file));
  expect(talk('my name is Ada')).toContain('You said');
  expect(talk('what is my name?')).toContain('your name is Ada');

  cpSync(threads, join(folder, 'out'), { recursive: true });
  rmSync(join(folder, 'node_modules'), { recursive: true });
  expect(talk('what is my name?')).toContain('your name is Ada');
}, 60_000);
