/**
 * `npm run record`: makes docs/images/first-minute.svg from real commands: a question, kill -9 in the middle of the
 * answer, resume, compaction and undo.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** One line of the recording, and how long it stays the last one. */
interface Line {
  readonly text: string;
  readonly kind: 'command' | 'output' | 'note';
  readonly pauseMs: number;
}

const COLUMNS = 92;
const LINE_HEIGHT = 20;
const END_PAUSE_MS = 6000;
const command = fileURLToPath(new URL('../bin/reprise.cjs', import.meta.url));
const home = mkdtempSync(join(tmpdir(), 'reprise-record-'));
const env = {
  ...process.env,
  REPRISE_HOME: home,
  REPRISE_MODEL: 'offline',
  REPRISE_COMPACTION_CUT: '{"kind":"keep-turns","turns":1}',
  NO_COLOR: '1',
};
const lines: Line[] = [];

function type(text: string): void {
  lines.push({ text: `$ ${text}`, kind: 'command', pauseMs: 900 });
}

function note(text: string): void {
  lines.push({ text, kind: 'note', pauseMs: 1500 });
}

function output(text: string, most = 4): void {
  const wrapped = text
    .trim()
    .split('\n')
    .flatMap(wrap)
    .filter((line) => line !== '');
  for (const line of wrapped.slice(0, most)) lines.push({ text: line, kind: 'output', pauseMs: 350 });
}

function wrap(line: string): string[] {
  const parts: string[] = [];
  for (let rest = line; rest !== ''; rest = rest.slice(parts.at(-1)?.length).trimStart()) {
    const end = rest.length <= COLUMNS ? rest.length : rest.lastIndexOf(' ', COLUMNS);
    parts.push(rest.slice(0, end > 0 ? end : COLUMNS));
  }
  return parts;
}

function run(...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, [command, ...args], {
    env,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`reprise ${args.join(' ')} exited with ${status}: ${stderr}`);
  // Results go to stdout, messages for people to stderr.
  return `${stdout}${stderr}`;
}

/** Starts a slow answer and ends the process with SIGKILL after a few words. */
async function killDuringAnswer(question: string, words: number): Promise<string> {
  const child = spawn(process.execPath, [command, '-p', question, '--model', 'offline:slow'], {
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let text = '';
  for await (const chunk of child.stdout.setEncoding('utf8')) {
    text += String(chunk);
    if (text.split(' ').length > words) break;
  }
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
  return text;
}

const escapeXml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

function svg(): string {
  const totalMs = lines.reduce((sum, { pauseMs }) => sum + pauseMs, 0) + END_PAUSE_MS;
  const height = (lines.length + 2) * LINE_HEIGHT;
  let startMs = 0;
  const rows = lines.map(({ text, kind, pauseMs }, i) => {
    const percent = ((startMs / totalMs) * 100).toFixed(2);
    startMs += pauseMs;
    const style = `@keyframes l${i}{0%,${percent}%{opacity:0}${(Number(percent) + 0.01).toFixed(2)}%,100%{opacity:1}}`;
    const y = (i + 1.6) * LINE_HEIGHT;
    return {
      style: `${style}#l${i}{animation:l${i} ${totalMs}ms infinite}`,
      row: `<text id="l${i}" class="${kind}" x="16" y="${y}" xml:space="preserve">${escapeXml(text)}</text>`,
    };
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 800 ${height}" role="img" aria-label="A terminal: a question, kill -9 during the answer, resume, compaction and undo">
<style>rect{fill:#14161b}text{font:13.5px ui-monospace,Menlo,Consolas,monospace;fill:#d6d9e0}.command{fill:#8ecbff}.note{fill:#f0b36a}
@media (prefers-reduced-motion:reduce){text{animation:none!important}}
${rows.map(({ style }) => style).join('\n')}</style>
<rect width="800" height="${height}" rx="8"/>
${rows.map(({ row }) => row).join('\n')}
</svg>
`;
}

try {
  const question = 'My name is Ada. What can you do?';
  type(`reprise -p "${question}"`);
  output(await killDuringAnswer(question, 12), 2);
  note('kill -9, in the middle of the answer');
  type('reprise -c -p "What is my name?"');
  output(run('-c', '-p', 'What is my name?').replace(/^Restored.*\n/m, ''), 2);
  note('The question was on the disk before the model was called.');
  for (const topic of ['garden', 'roof', 'window', 'door', 'path', 'fence'])
    run(
      '-c',
      '-p',
      `The ${topic} costs 120 euros. ${`We talked about the ${topic} with the builder. `.repeat(12)}`,
    );
  type('reprise compact @last');
  output(run('compact', '@last'), 2);
  type('reprise undo @last');
  output(run('undo', '@last'), 2);
  note('Every original message is still there.');
  type('reprise search Ada');
  output(run('search', 'Ada'), 3);
  writeFileSync(new URL('../docs/images/first-minute.svg', import.meta.url), svg());
  for (const { text } of lines) console.log(text);
} finally {
  rmSync(home, { recursive: true, force: true });
}
