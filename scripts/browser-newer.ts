/**
 * `npm run test:browser:newer`: test/browser in the pinned Chromium of test/browser-newer. Browsers of different versions
 * differ in what they do after a failed load, so the page is tested in more than the Chromium of this machine. Arguments
 * are passed on to Vitest.
 */
import { spawnSync } from 'node:child_process';
import { createReadStream, createWriteStream, existsSync, readFileSync, renameSync } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { createBrotliDecompress } from 'node:zlib';

const modules = fileURLToPath(new URL('../test/browser-newer/node_modules', import.meta.url));
const packed = `${modules}/@sparticuz/chromium`;
const { version } = JSON.parse(readFileSync(`${packed}/package.json`, 'utf8')) as { version: string };
const browser = `${modules}/chromium-${version}`;

if (!existsSync(browser)) {
  const part = `${browser}.part`;
  await pipeline(
    createReadStream(`${packed}/bin/chromium.br`),
    createBrotliDecompress(),
    createWriteStream(part, { mode: 0o755 }),
  );
  renameSync(part, browser);
}

const args = process.argv.slice(2);
const files = args.length > 0 ? args : ['test/browser/'];
const { status } = spawnSync('vitest', ['run', ...files, '--no-isolate', '--maxWorkers=2'], {
  stdio: 'inherit',
  env: { ...process.env, REPRISE_CHROMIUM: browser },
});
process.exit(status ?? 1);
