import type { ModelBook } from '../../config/model-book.ts';
import { type CommandResult, oneLine } from '../../engine/commands/command-context.ts';
import { type Command, parseCommand, unknownCommandText } from '../../engine/commands.ts';
import type { Reprise } from '../../engine/reprise.ts';
import { runCommand } from '../../engine/run-command.ts';
import type { Session } from '../../engine/session.ts';
import type { TurnStream } from '../../engine/turn-stream.ts';
import { RepriseError } from '../../errors.ts';
import type { Store } from '../../store/store.ts';
import { exportFile, formatByName } from '../export-file.ts';
import { escapeForTerminal, print, say, style } from '../print.ts';
import { sayFailure } from './failure.ts';
import { statusLine } from './status-line.ts';
import { tellCommand } from './tell-command.ts';
import { TurnView } from './turn-view.ts';

export interface ReplOptions {
  readonly reprise: Reprise;
  readonly models: ModelBook;
  readonly confirm: (question: string) => Promise<boolean>;
  /** Whether a person looks on. */
  readonly isLive: boolean;
}

/** Messages that are being answered: the first is shown, those typed meanwhile follow. */
interface Round {
  readonly turns: TurnStream[];
  readonly signal: AbortSignal;
  readonly stop: () => void;
}

const SHOWN_CHARS = 60;

/** Lines in, answers out: commands by the table of the engine, everything else to the session it stands in. */
export class Repl {
  readonly #options: ReplOptions;
  readonly #view: TurnView;
  #session: Session | undefined;
  #round: Round | undefined;

  constructor(options: ReplOptions) {
    this.#options = options;
    this.#view = new TurnView({ out: process.stdout, talk: process.stderr, isLive: options.isLive });
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
      sayFailure(error);
      say(`Until /model names another, the one above answers instead of ${escapeForTerminal(model)}.`);
    }
  }

  /** False: it was the last line. What goes wrong is told, and the chat goes on. */
  async answer(line: string, running: AbortController): Promise<boolean> {
    const { signal } = running;
    try {
      if (line.trim() === '') return true;
      const parsed = parseCommand(line, { surface: 'repl' });
      if (parsed === undefined) await this.#converse(this.#here.send(line, { signal }), running);
      else if ('message' in parsed)
        await this.#converse(this.#here.send(parsed.message, { signal }), running);
      else if ('unknown' in parsed) say(escapeForTerminal(unknownCommandText(parsed)));
      else return await this.#run(parsed, running);
    } catch (error) {
      if (signal.aborted) say('(stopped)');
      else sayFailure(error);
    }
    return true;
  }

  /**
   * A message typed while an answer streams is sent at once, so that the queue mode decides what becomes of it; /stop
   * stops. Other commands wait, as everything does where no answer streams: false.
   */
  meanwhile(line: string): boolean {
    const round = this.#round;
    if (round === undefined || round.signal.aborted || line.trim() === '') return false;
    const parsed = parseCommand(line, { surface: 'repl' });
    if (parsed !== undefined && 'name' in parsed && parsed.name === 'stop') {
      // More than an interrupt: what waits and the children end too.
      void this.#here.stop({ waiting: true }).catch(sayFailure);
      round.stop();
      return true;
    }
    const text = parsed === undefined ? line : 'message' in parsed ? parsed.message : undefined;
    if (text === undefined) return false;
    round.turns.push(this.#here.send({ text }, { signal: round.signal }));
    this.#view.note(`(sent: ${oneLine(text, SHOWN_CHARS)})`);
    return true;
  }

  async #run(command: Command, running: AbortController): Promise<boolean> {
    const { reprise, models, confirm } = this.#options;
    const { signal } = running;
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
    const { sessionId, turn, save, quit } = result;
    if (sessionId !== undefined && sessionId !== this.#here.id)
      await this.enter(await reprise.session({ id: sessionId }));
    if (save !== undefined) await keep(reprise.store, save);
    if (turn !== undefined) await this.#converse(turn, running);
    return quit !== true;
  }

  get #here(): Session {
    if (this.#session === undefined) throw new RepriseError('INVALID_INPUT', 'no session was entered');
    return this.#session;
  }

  async #converse(first: TurnStream, running: AbortController): Promise<void> {
    const { signal } = running;
    const turns = [first];
    this.#round = { turns, signal, stop: () => running.abort() };
    try {
      // It grows while it is walked through: those typed meanwhile are shown in their order.
      for (const turn of turns) await this.#show(turn, turn === turns[0]);
    } finally {
      this.#round = undefined;
    }
    if (signal.aborted) say('(stopped)');
  }

  async #show(turn: TurnStream, isFirst: boolean): Promise<void> {
    let model: string | undefined;
    try {
      for await (const event of turn) {
        if (event.type === 'turn_start') model = event.model;
        // That one typed meanwhile waits is no news.
        if (isFirst || event.type !== 'queued') this.#view.show(event);
        if (event.type !== 'done') continue;
        this.#view.end();
        // A message that joined the turn before it has been answered with it.
        if (model !== undefined && this.#options.isLive)
          say(style('dim', escapeForTerminal(await statusLine(this.#here, model, event))));
        else if (isFirst && model === undefined) print(escapeForTerminal(event.text));
      }
      await turn.result; // throws what the turn ended with
    } catch (error) {
      this.#view.end();
      if (this.#round?.signal.aborted === true && isAborted(error)) return;
      // Another message of the same person came first, by the queue mode `interrupt`.
      if (this.#round?.turns.at(-1) !== turn && isAborted(error)) say('(interrupted)');
      else sayFailure(error);
    }
  }
}

function isAborted(error: unknown): boolean {
  return error instanceof RepriseError && error.code === 'ABORTED';
}

/** The code stands with the cause, before the line that says what to do. */
function tell({ name, text, code }: CommandResult): void {
  const isDone = code === undefined;
  tellCommand(name, isDone ? text : text.replace(/$/m, ` (${code})`), { isDone });
}

async function keep(store: Store, { sessionId, name }: NonNullable<CommandResult['save']>): Promise<void> {
  const format = formatByName(name);
  try {
    // A file that is there is somebody's: it is never written over.
    await exportFile(store, await store.get(sessionId), { format, file: name, seals: true });
  } catch (error) {
    if (!(error instanceof RepriseError) || error.code !== 'INVALID_INPUT') throw error;
    const { code, message, details } = error;
    throw new RepriseError(code, message, {
      details: { ...details, next: 'Name another file: /export <file>' },
      cause: error,
    });
  }
  say(`Written to ${escapeForTerminal(name)} as ${format}.`);
}
