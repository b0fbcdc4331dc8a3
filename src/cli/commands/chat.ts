import { createInterface } from 'node:readline';
import { createModel } from '../../config/create-model.ts';
import { openStore } from '../../config/open.ts';
import { openReprise } from '../../config/open-reprise.ts';
import type { ContextReport, Session, UndoResult } from '../../engine/session.ts';
import { type HomeOptions, homeOf } from '../home.ts';
import { escapeForTerminal, print, printError, say } from '../print.ts';

const BAR_CELLS = 30;
const HELP = '/context, /compact [focus], /undo, /redo, /quit; // begins a message with a slash';

/** A plain chat on one session, which goes on where it stopped. Reads lines until they end, from people and pipes. */
export async function chat(options: HomeOptions & { readonly model?: unknown } = {}): Promise<void> {
  const { path, origin } = homeOf(options);
  const name = typeof options.model === 'string' ? options.model : 'offline';
  const model = await createModel(name);
  const store = await openStore({ kind: 'jsonl', home: path, signals: true });
  await using reprise = await openReprise({ home: path, store, model, run: false });
  const session = await reprise.session('agent:main:main');
  const { messageCount } = await session.record();
  say(`Everything said here is kept in ${path} (from ${origin}).`);
  const offline = 'offline: a small program, without network and without understanding';
  say(`The model is ${name === 'offline' ? offline : escapeForTerminal(name)}.`);
  say(
    messageCount > 0 ? `Restored: ${messageCount} messages.` : 'Try: my name is Ada. Then: what is my name?',
  );
  say(HELP);

  const terminal = process.stdin.isTTY === true && process.stderr.isTTY === true;
  const lines = createInterface({ input: process.stdin, output: process.stderr, terminal, prompt: '> ' });
  let running: AbortController | undefined;
  const interrupt = (): void => (running === undefined ? lines.close() : running.abort());
  lines.on('SIGINT', interrupt);
  process.on('SIGINT', interrupt);
  if (terminal) lines.prompt();
  for await (const line of lines) {
    running = new AbortController();
    const goesOn = await answer(session, line.trim(), running.signal);
    running = undefined;
    if (!goesOn) break;
    if (terminal) lines.prompt();
  }
  process.off('SIGINT', interrupt);
  lines.close();
}

/** False: it was the last line. What goes wrong is told, and the chat goes on. */
async function answer(session: Session, line: string, signal: AbortSignal): Promise<boolean> {
  try {
    if (line === '/quit' || line === '/exit') return false;
    if (line.startsWith('/') && !line.startsWith('//')) await command(session, line, signal);
    else if (line !== '') await converse(session, line.replace(/^\/\//, '/'), signal);
  } catch (error) {
    if (signal.aborted) say('(stopped)');
    else printError(error);
  }
  return true;
}

async function converse(session: Session, text: string, signal: AbortSignal): Promise<void> {
  const turn = session.send(text, { signal });
  for await (const event of turn) {
    if (event.type === 'text_delta') process.stdout.write(escapeForTerminal(event.text));
    else if (event.type === 'tool_call') {
      print('');
      say(`(${escapeForTerminal(`${event.name} ${JSON.stringify(event.input)}`)})`);
    } else if (event.type === 'compaction')
      say(`(compacted: ~${event.tokensBefore} -> ~${event.tokensAfter} tokens)`);
  }
  print('');
  await turn.result; // throws what the turn ended with
}

async function command(session: Session, line: string, signal: AbortSignal): Promise<void> {
  const [, name = '', rest = ''] = /^\/(\S*)\s*(.*)$/.exec(line) ?? [];
  if (name === 'context') print(contextBar(await session.context()));
  else if (name === 'undo') say(told(await session.undo(), 'Took back', 'undo'));
  else if (name === 'redo') say(told(await session.redo(), 'Brought back', 'redo'));
  else if (name === 'compact') {
    const done = await session.compact({ signal, ...(rest !== '' && { focus: rest }) });
    if (done === null) say('Nothing to gain by it yet.');
    else say(`Compacted: ~${done.tokensBefore} -> ~${done.tokensAfter} tokens.`);
  } else say(`There is no command /${escapeForTerminal(name)}. There are: ${HELP}`);
}

function told({ undone }: UndoResult, done: string, verb: string): string {
  return undone === null ? `Nothing to ${verb}.` : `${done} the last ${undone}.`;
}

function contextBar({ tokens, window, reserve, split }: ContextReport): string {
  const share = tokens / window.tokens;
  const cells = Math.min(BAR_CELLS, Math.floor(share * BAR_CELLS));
  const count = (n: number): string => n.toLocaleString('en');
  const parts = Object.entries({ ...split, 'kept free': reserve }).map(([part, n]) => `${part} ${count(n)}`);
  return `Context usage: ~${count(tokens)} / ${count(window.tokens)} tokens
[${'#'.repeat(cells).padEnd(BAR_CELLS, '-')}] ${(share * 100).toFixed(1)}%
${parts.join(', ')}`;
}
