/**
 * Packs the package, installs it into an empty folder like any user would, and uses it there: the command,
 * the entry points, their types, bundles, Deno, and the page of its server.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brokenLinks } from './broken-links.ts';

const folder = mkdtempSync(join(tmpdir(), 'reprise-pack-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
const root = process.cwd();
const run = (file: string, args: readonly string[], cwd = folder): string =>
  execFileSync(file, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });

const [{ filename = '', files = [] } = {}] = JSON.parse(
  run('npm', ['pack', '--json', '--silent', '--pack-destination', folder], root).replace(/^[^[]*/, ''),
) as { filename?: string; files?: { path: string }[] }[];
const stray = files
  .map(({ path }) => path)
  .filter((path) => /^(src|testing|test|scripts|bench)\//.test(path));
if (stray.length > 0) throw new Error(`the package holds ${stray.join(', ')}`);
const broken = brokenLinks(
  root,
  files.map(({ path }) => path),
);
if (broken.length > 0) throw new Error(`links in the package lead nowhere: ${broken.join(', ')}`);
console.log('ok: every relative link in the package');

writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'user', private: true, type: 'module' }));
run('npm', ['install', '--no-audit', '--no-fund', '--silent', join(folder, filename)]);
writeFileSync(
  join(folder, 'use.ts'),
  `import { openReprise, openStore, type Store } from 'reprise';
import { parseTranscript, rebuildHistory, type AnthropicMessage } from 'reprise/transcript';
import { createClient, type Client } from 'reprise/client';
import { createApp, type RepriseApp } from 'reprise/server';
import { createChatHandler, toUIMessages, type UiMessage } from 'reprise/ai-sdk';
import { validateAnthropicMessages, type Violation } from 'reprise/testing';
const client: Client = createClient({ url: 'http://127.0.0.1:1', token: 'none' });
console.log(typeof client.chat);
const { entries } = parseTranscript('{"type":"user","content":"hi","ts":1}\\n');
const messages: AnthropicMessage[] = rebuildHistory(entries, { format: 'anthropic' });
const violations: Violation[] = validateAnthropicMessages(messages);
console.log(JSON.stringify({ messages, violations }));
await using store: Store = await openStore({ kind: 'jsonl', home: 'home' });
const { id } = await store.create({ key: 'agent:main:main' });
console.log(JSON.stringify(await store.append(id, [{ type: 'message', message: { role: 'user', content: 'hi' } }])));
await using reprise = await openReprise({ store: 'memory' });
const { text } = await (await reprise.session('agent:main:main')).send('hello').result;
console.log(text);
const app: RepriseApp = createApp({ reprise, auth: () => ({ user: 'ada', role: 'user' }) });
console.log('mounted', (await app(new Request('http://localhost/api/sessions'))).status);
const messages2: UiMessage[] = toUIMessages(await (await reprise.session('agent:main:main')).messages());
console.log('chat', messages2.length, typeof createChatHandler);
`,
);
const expect = (what: string, text: string, part: string): void => {
  if (!text.includes(part)) throw new Error(`${what}: expected ${part} in\n${text}`);
  console.log(`ok: ${what}`);
};
const options = ['--strict', '--noEmit', '--module', 'nodenext', '--target', 'es2024', '--types', ''];
options.push('--lib', 'es2024,esnext.disposable,dom');
run(join(root, 'node_modules/.bin/tsc'), [...options, 'use.ts']);
console.log('ok: the types are usable');
const used = run(process.execPath, ['use.ts']);
expect('the library', used, '{"messages":[{"role":"user","content":"hi"}],"violations":[]}');
expect('the client', used, 'function');
expect('the mounted server', used, 'mounted 200');
expect('the AI SDK endpoint', used, 'chat 2 function');
expect('the engine', used, 'You said: "hello"');
expect('the store in its threads', used, '{"firstSeq":2,"lastSeq":2}');

// Programs are bundled: the threads must be found in the installed package, or beside a bundle that is deployed alone.
writeFileSync(
  join(folder, 'bundled.ts'),
  `import { openReprise } from 'reprise';
const run = async (): Promise<void> => {
  await using reprise = await openReprise({ home: process.argv[2] ?? '' });
  const session = await reprise.session('agent:main:main');
  console.log((await session.send(process.argv[3] ?? '').result).text);
};
void run();
`,
);
run('npm', ['install', '--no-audit', '--no-fund', '--silent', '--ignore-scripts', 'esbuild@0.28.2']);
for (const [format, file] of [
  ['esm', 'app.mjs'],
  ['cjs', 'app.cjs'],
] as const) {
  const out = join(folder, format);
  const bundling = ['bundled.ts', '--bundle', '--platform=node', '--target=node24', '--log-level=error'];
  bundling.push(`--format=${format}`, `--outfile=${join(out, file)}`, '--external:pg-native');
  run(join(folder, 'node_modules/.bin/esbuild'), bundling);
  const talk = (...said: readonly string[]): string => run(process.execPath, [join(out, file), ...said]);
  talk(join(out, 'home'), 'my name is Ada');
  expect(`an esbuild bundle (${format})`, talk(join(out, 'home'), 'what is my name?'), 'your name is Ada');
}
const alone = mkdtempSync(join(tmpdir(), 'reprise-alone-'));
process.on('exit', () => rmSync(alone, { recursive: true, force: true }));
cpSync(join(folder, 'esm/app.mjs'), join(alone, 'app.mjs'));
for (const thread of ['thread.cjs', 'search-thread.cjs'])
  cpSync(join(folder, 'node_modules/reprise/dist/src/store/sqlite/threads', thread), join(alone, thread));
expect(
  'a bundle without node_modules',
  run(process.execPath, ['app.mjs', 'home', 'hi'], alone),
  'You said: "hi"',
);

// Deno has no way to close the port of a worker, so its threads end in another way.
run('npm', ['install', '--no-audit', '--no-fund', '--silent', '--ignore-scripts', 'deno@2.9.6']);
const deno = (text: string): string => {
  const args = ['run', '-A', 'bundled.ts', 'deno-home', text];
  const { status, stdout, stderr } = spawnSync(join(folder, 'node_modules/.bin/deno'), args, {
    cwd: folder,
    encoding: 'utf8',
  });
  if (status !== 0 || stderr !== '') throw new Error(`Deno ended with ${status}: ${stderr}`);
  return stdout;
};
deno('my name is Ada');
expect('Deno', deno('what is my name?'), 'your name is Ada');

const bin = join(folder, 'node_modules/.bin/reprise');
const chat = [bin, 'chat', '--home', join(folder, 'chat')];
const said = execFileSync(process.execPath, chat, { encoding: 'utf8', input: 'hello' });
expect('the chat', said, 'You said: "hello"');
expect('ls', run(process.execPath, [bin, 'ls', '--home', join(folder, 'chat')]), 'hello');
const sample = join(folder, 'node_modules/reprise/examples/transcripts/zyhive.jsonl');
expect(
  'show',
  run(process.execPath, [bin, 'show', sample, '--json', '--format', 'openai']),
  '"role": "tool"',
);

const server = spawn(
  process.execPath,
  [bin, 'serve', '--port', '0', '--json', '--home', join(folder, 'served')],
  {
    stdio: ['ignore', 'pipe', 'ignore'],
  },
);
const [line] = (await once(server.stdout, 'data')) as [Buffer];
const { url } = JSON.parse(line.toString()) as { url: string };
const page = await (await fetch(url)).text();
const [, script = 'none'] = /src="\.\/(assets\/index-[^"]+\.js)"/.exec(page) ?? [];
expect('the page', (await fetch(`${url}/${script}`)).headers.get('content-type') ?? '', 'text/javascript');
server.kill();
await once(server, 'exit');
