'use strict';
const { existsSync } = require('node:fs');
const { join } = require('node:path');
const { pathToFileURL } = require('node:url');

// A checkout runs its sources; the published package holds only the build.
const source = join(__dirname, '../src/cli/main.ts');
const main = existsSync(source) ? source : join(__dirname, '../dist/cli/main.js');
void import(pathToFileURL(main).href).then(({ main }) => main(process.argv));
