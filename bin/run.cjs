'use strict';
const { existsSync } = require('node:fs');
const { enableCompileCache } = require('node:module');
const { homedir } = require('node:os');
const { isAbsolute, join } = require('node:path');

const [, , only, ...others] = process.argv;
if ((only === '--version' || only === '-V') && others.length === 0) {
  // Asked by scripts before every use; it needs nothing of the program.
  process.stdout.write(`${require('../package.json').version}\n`);
} else {
  // What Node compiled is kept where only this user writes: it is run unseen, so a shared folder would not do. Where
  // nothing can be kept Node says so to nobody, and compiles again.
  const { XDG_CACHE_HOME = '' } = process.env;
  const cache = isAbsolute(XDG_CACHE_HOME) ? XDG_CACHE_HOME : join(homedir(), '.cache');
  // By the environment, because that is where threads look for it.
  process.env.NODE_COMPILE_CACHE ??= join(cache, 'reprise', 'node');
  enableCompileCache();
  // A checkout runs its sources; the published package holds only the build.
  const source = join(__dirname, '../src/cli/main.ts');
  const isCheckout = existsSync(source);
  const start = () => require(isCheckout ? source : '../dist/command/main.js').main(process.argv);
  const words = process.argv.slice(2);
  const isServing = words.includes('serve') && !words.some((word) => ['help', '-h', '--help'].includes(word));
  void (isCheckout && isServing ? buildPage().then(start) : start());
}

/** The page is the one part that has to be built. Without the tools for it the server still serves its API. */
async function buildPage() {
  try {
    const { ensureWeb } = await import('../scripts/build-web.ts');
    if (await ensureWeb()) process.stderr.write('The web page was built.\n');
  } catch (error) {
    process.stderr.write(`The web page could not be built: ${error.message}\n`);
  }
}
