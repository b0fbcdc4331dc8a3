import { createInterface } from 'node:readline';
import { createModel } from '../../config/create-model.ts';
import { ModelBook } from '../../config/model-book.ts';
import { openStore } from '../../config/open.ts';
import { openReprise } from '../../config/open-reprise.ts';
import { type HomeOptions, homeOf } from '../home.ts';
import { escapeForTerminal, say } from '../print.ts';
import { Repl } from '../repl.ts';

const HELP = '/help lists commands, /quit ends; // begins a message with a slash';

/** A plain chat that goes on where it stopped. Reads lines until they end, from people and pipes. */
export async function chat(options: HomeOptions & { readonly model?: unknown } = {}): Promise<void> {
  const { path, origin } = homeOf(options);
  const name = typeof options.model === 'string' ? options.model : 'offline';
  const model = await createModel(name);
  const store = await openStore({ kind: 'jsonl', home: path, signals: true });
  const models = new ModelBook();
  const modelByName: typeof models.get = (wanted) => models.get(wanted);
  await using reprise = await openReprise({ home: path, store, model, modelByName, run: false });
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
  const input = lines[Symbol.asyncIterator]();
  let running: AbortController | undefined;
  const confirm = async (question: string): Promise<boolean> => {
    const interrupted = running;
    // While a question stands nothing runs, so Ctrl-C leaves, and no answer is a no.
    running = undefined;
    say(`${escapeForTerminal(question)} [y/N]`);
    const { value } = await input.next();
    running = interrupted;
    return typeof value === 'string' && /^y(es)?$/i.test(value.trim());
  };
  const repl = new Repl({ reprise, models, confirm });
  await repl.enter(session);
  const interrupt = (): void => (running === undefined ? lines.close() : running.abort());
  lines.on('SIGINT', interrupt);
  // Stays until the process ends: an impatient second Ctrl-C must not kill it while the store closes.
  process.on('SIGINT', interrupt);
  if (terminal) lines.prompt();
  for (let line = await input.next(); line.done !== true; line = await input.next()) {
    running = new AbortController();
    const goesOn = await repl.answer(line.value, running.signal);
    running = undefined;
    if (!goesOn) break;
    if (terminal) lines.prompt();
  }
  lines.close();
}
