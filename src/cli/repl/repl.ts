import { writeFile } from 'node:fs/promises';
import type { ModelBook } from '../config/model-book.ts';
import type { CommandResult } from '../engine/commands/command-context.ts';
import { type Command, findCommand, parseCommand, unknownCommandText } from '../engine/commands.ts';
import type { UserInput } from '../engine/inbound.ts';
import type { Reprise } from '../engine/reprise.ts';
import { runCommand } from '../engine/run-command.ts';
import type { Session } from '../engine/session.ts';
import { RepriseError } from '../errors.ts';
import { escapeForTerminal, print, printError, say } from './print.ts';

export interface ReplOptions {
  readonly reprise: Reprise;
  readonly models: ModelBook;
  readonly confirm: (question: string) => Promise<boolean>;
}

/** Lines in, answers out: commands by the table of the engine, everything else to the session it stands in. */
export class Repl {
  readonly #options: ReplOptions;
  #session: Session | undefined;

  constructor(options: ReplOptions) {
    this.#options = options;
  }

  async enter(session: Session): Promise<void> {
    this.#session = session;
    const { model } = (await session.record()).settings;
    if (typeof model !== 'string') return;
    try {
      await this.#options.models.load(model);
      say(`The model of this session is ${escapeForTerminal(model)}.`);
    } catch (error) {
      // Its history can be read, and another model may answer.
      printError(error);
      say(`Until /model names another, the one above answers instead of ${escapeForTerminal(model)}.`);
    }
  }

  /** False: it was the last line. What goes wrong is told, and the chat goes on. */
  async answer(line: string, signal: AbortSignal): Promise<boolean> {
    try {
      if (line.trim() === '') return true;
      const parsed = parseCommand(line, { surface: 'repl' });
      if (parsed === undefined) await this.#converse({ text: line }, signal);
      else if ('message' in parsed) await this.#converse({ text: parsed.message }, signal);
      else if ('unknown' in parsed) say(escapeForTerminal(unknownCommandText(parsed)));
      else return await this.#run(parsed, signal);
    } catch (error) {
      if (signal.aborted) say('(stopped)');
      else printError(error);
    }
    return true;
  }

  async #run(command: Command, signal: AbortSignal): Promise<boolean> {
    const { reprise, models, confirm } = this.#options;
    const result = await runCommand(command, {
      reprise,
      session: this.#here,
      surface: 'repl',
      signal,
      confirm,
      modelByName: (name) => models.load(name),
    });
    if (result.code === 'ABORTED' && signal.aborted) say('(stopped)');
    else tell(result);
    const { sessionId, send, save, quit } = result;
    if (sessionId !== undefined && sessionId !== this.#here.id)
      await this.enter(await reprise.session({ id: sessionId }));
    if (save !== undefined) await keep(save);
    if (send !== undefined) await this.#converse(send, signal);
    return quit !== true;
  }

  get #here(): Session {
    if (this.#session === undefined) throw new RepriseError('INVALID_INPUT', 'no session was entered');
    return this.#session;
  }

  async #converse(input: UserInput, signal: AbortSignal): Promise<void> {
    const turn = this.#here.send(input, { signal });
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
}

/** What was asked for is data, a word about what was done is talk. */
function tell({ name, text, code }: CommandResult): void {
  const isData = code === undefined && findCommand(name)?.data === true;
  // With the cause, before the line that says what to do.
  const whole = code === undefined ? text : text.replace(/$/m, ` (${code})`);
  (isData ? print : say)(escapeForTerminal(whole));
}

async function keep({ name, bytes }: NonNullable<CommandResult['save']>): Promise<void> {
  try {
    // A file that is there is somebody's: it is never written over.
    await writeFile(name, bytes, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    throw new RepriseError('INVALID_INPUT', `cannot write ${name}: ${code}`, {
      details: { next: 'Name another file: /export <file>' },
      cause: error,
    });
  }
  say(`Written to ${escapeForTerminal(name)}.`);
}
