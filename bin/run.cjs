'use strict';
const { existsSync } = require('node:fs');
const { join } = require('node:path');
const { pathToFileURL } = require('node:url');

const [, , only, ...others] = process.argv;
if ((only === '--version' || only === '-V') && others.length === 0) {
  // Asked by scripts before every use; it needs nothing of the program.
  process.stdout.write(`${require('../package.json').version}\n`);
} else {
  // A checkout runs its sources; the published package holds only the build.
  const source = join(__dirname, '../src/cli/main.ts');
  const isCheckout = existsSync(source);
  const main = isCheckout ? source : join(__dirname, '../dist/cli/main.js');
  const load = (path) => import(pathToFileURL(path).href);
  const ready = isCheckout && process.argv.includes('serve') ? buildPage(load) : Promise.resolve();
  void ready.then(() => load(main)).then(({ main }) => main(process.argv));
}

/** The page is the one part that has to be built. Without the tools for it the server still serves its API. */
async function buildPage(load) {
  try {
    const { ensureWeb } = await load(join(__dirname, '../scripts/build-web.ts'));
    if (await ensureWeb()) process.stderr.write('The web page was built.\n');
  } catch (error) {
    process.stderr.write(`The web page could not be built: ${error.message}\n`);
  }
}
