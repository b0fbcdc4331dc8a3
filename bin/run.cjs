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
  const main = existsSync(source) ? source : join(__dirname, '../dist/cli/main.js');
  void import(pathToFileURL(main).href).then(({ main }) => main(process.argv));
}
