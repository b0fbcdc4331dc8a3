import type { ModelBook } from '../../config/model-book.ts';
import { findModelName, listModels } from '../../config/model-list.ts';
import type { Config } from '../../config/schema.ts';
import { chosenModel } from '../../engine/agents/session-models.ts';
import { type CommandResult, oneLine } from '../../engine/commands/command-context.ts';
import { type Command, parseCommand, unknownCommandText } from '../../engine/commands/commands.ts';
import { runCommand } from '../../engine/commands/run-command.ts';
import type { ModelFallbackEvent, TurnEvent } from '../../engine/events.ts';
import type { Reprise } from '../../engine/reprise.ts';
import { isRunning, isWaiting } from '../../engine/schedule/queue.ts';
import type { Session } from '../../engine/session.ts';
import type { TurnStream } from '../../engine/turn/turn-stream.ts';
import { RepriseError } from '../../errors.ts';
import { counted } from '../../messages/english-format.ts';
import { failure, sameFailure } from '../../messages/failure.ts';
import type { InboxItem } from '../../store/port/inbox.ts';
import type { Store } from '../../store/port/store.ts';
import type { Entry } from '../../transcript/entry.ts';
import { shownEntry } from '../../transcript/shown-entry.ts';
import { exportFile, formatByName } from '../export-file.ts';
import { fallbackText, type ModelFlag } from '../model-flag.ts';
import { copyToClipboard } from '../terminal/clipboard.ts';
import { escapeForTerminal, print, say, style } from '../terminal/print.ts';
import { printCommandResult } from './command-answer.ts';
import { sayFailure } from './failure.ts';
import { withFiles } from './input-files.ts';
import { lastExchange } from './last-exchange.ts';
import { SentMessage } from './sent-message.ts';
import { statusLine } from './status-line.ts';
import { TurnView } from './turn-view.ts';

export interface ReplOptions {
  readonly reprise: Reprise;
  readonly models: ModelBook;
  readonly modelFlag: ModelFlag;
  /** Lists the models that can be chosen. */
  readonly config?: Pick<Config, 'model' | 'models' | 'agents'>;
  readonly confirm: (question: string) => Promise<boolean>;
  /** The output is a terminal. */
  readonly isLive: boolean;
  /** Print the text of the model as it is. */
  readonly isPlain?: boolean;
  /** The line that is typed while an answer streams. */
  readonly typed?: () => string;
  /** Puts a message that was not answered back into the input line. */
  readonly restore?: (message: string) => void;
}

/** Messages that are being answered, in the order they were sent. One answer is shown at a time. */
interface Round {
  readonly sent: SentMessage[];
  shown: SentMessage | undefined;
  /** The turn that is shown. */
  turnId: string | undefined;
  /** Turns whose answer was shown or stopped. Messages that joined one of them have no other answer. */
  readonly seenTurns: Set<string>;
}

const SHOWN_CHARS = 60;
/** Of the newest lines, which contain the last exchange unless it used many tools. */
const NEWEST = 60;

/** The chat loop: runs commands from the engine's table, and sends everything else to the current session. */
export class Repl {
  readonly #options: ReplOptions;
  readonly #view: TurnView;
  #session: Session | undefined;
  #round: Round | undefined;
  /** The sessions of the list that was printed last. */
  #listed: readonly string[] | undefined;
  #listedModels: readonly string[] | undefined;
  readonly #reportedFallbacks: Set<string> = new Set();
  #isLeaving = false;

  constructor(options: ReplOptions) {
    this.#options = options;
    const { isLive, isPlain = false, typed } = options;
    this.#view = new TurnView({
      ...{ out: process.stdout, talk: process.stderr, isLive, isPlain },
      ...(typed !== undefined && { typed }),
      queued: () => this.#queued.map(({ text }) => text),
    });
  }

  /** Shows what is typed below the answer that streams. */
  readonly refresh = (): void => this.#view.refresh();

  /** Messages typed during an answer that are still waiting. */
  get #queued(): readonly SentMessage[] {
    const round = this.#round;
    return round?.sent.filter((one) => one !== round.shown && one.isQueued) ?? [];
  }

  /** Withdraws the newest queued message. @returns its text, or undefined if none waits. */
  async withdraw(): Promise<string | undefined> {
    const last = this.#queued.at(-1);
    return last !== undefined && (await this.#takeBack(last)) ? last.text : undefined;
  }

  async enter(session: Session): Promise<void> {
    this.#session = session;
    this.#options.modelFlag.open(session.id);
    const stored = chosenModel((await session.record()).settings);
    if (stored === undefined) return;
    const { name, from, fallbackFrom } = await session.model();
    if (fallbackFrom !== undefined)
      this.#reportFallback({ wanted: stored, model: name, why: fallbackFrom.why });
    else if (from === 'session') say(`This session uses the model ${escapeForTerminal(name)}.`);
    else say(`This session is set to the model ${escapeForTerminal(stored)}; --model overrides it.`);
  }

  /** Prints where a resumed session stopped. */
  async showLast(): Promise<void> {
    const { messageCount } = await this.#here.record();
    if (messageCount === 0) return;
    const { entries } = await this.#here.history({ limit: NEWEST, direction: 'backward' });
    const newest = entries
      .toSorted((a, b) => a.seq - b.seq)
      .flatMap(({ entry, seq }) => (entry.type === 'message' ? [shownEntry(entry as Entry, seq)] : []));
    const options = { columns: process.stderr.columns, isPlain: this.#options.isPlain };
    for (const line of lastExchange(newest, messageCount, options)) say(line);
  }

  /** Once for each session and model. */
  #reportFallback(fallback: Omit<ModelFallbackEvent, 'type' | 'reason'>): void {
    const key = `${this.#here.id} ${fallback.wanted}`;
    if (this.#reportedFallbacks.has(key)) return;
    this.#reportedFallbacks.add(key);
    this.#view.note(fallbackText(fallback));
  }

  /** Runs messages that are still queued from an earlier chat or a crashed process. */
  async begin(running: AbortController): Promise<void> {
    try {
      const { inbox } = this.#options.reprise.store;
      const queued = (await inbox.pending(this.#here.id)).filter(isOfThisChat);
      for (const { body } of queued)
        say(`> ${escapeForTerminal(oneLine(String(body['text']), SHOWN_CHARS))}`);
      const sent = queued.map(({ inboxId, body }) =>
        this.#sent(String(body['text']), (signal) => this.#here.resume(inboxId, { signal })),
      );
      await this.#converse(sent);
    } catch (error) {
      if (!running.signal.aborted) sayFailure(error);
    }
  }

  /** @returns false after the last line. An error is shown, and the chat continues. */
  async answer(line: string, running: AbortController): Promise<boolean> {
    const { signal } = running;
    try {
      if (line.trim() === '') return true;
      const parsed = parseCommand(line, { surface: 'repl' });
      if (parsed === undefined) await this.#converse([this.#send(line)]);
      else if ('message' in parsed) await this.#converse([this.#send(parsed.message)]);
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
   * stops. Other commands wait until everything is answered.
   * @returns false if the line has to wait.
   */
  meanwhile(line: string): boolean {
    const round = this.#round;
    if (round === undefined || this.#isLeaving || line.trim() === '') return false;
    const parsed = parseCommand(line, { surface: 'repl' });
    if (parsed !== undefined && 'name' in parsed && parsed.name === 'stop') {
      // Unlike Ctrl-C it also cancels queued messages and the tasks of children.
      for (const sent of round.sent) sent.isStopped = true;
      void this.#here.stop({ waiting: true }).catch(sayFailure);
      return true;
    }
    const text = parsed === undefined ? line : 'message' in parsed ? parsed.message : undefined;
    if (text === undefined) return false;
    try {
      round.sent.push(this.#send(text));
    } catch (error) {
      // A file that it names cannot be sent: the user changes the line.
      this.#options.restore?.(text);
      this.#view.note(error instanceof RepriseError ? `(not sent: ${error.message})` : String(error));
    }
    this.#view.refresh();
    return true;
  }

  /** Stops the answer that is shown, or the command that runs. Queued messages return to the input line. */
  interrupt(running: AbortController): boolean {
    const shown = this.#round?.shown;
    if (shown === undefined) {
      if (running.signal.aborted) return false;
      running.abort();
      return true;
    }
    if (shown.isStopped) return false;
    shown.isStopped = true;
    if (!this.#isLeaving) void this.#restoreQueued().catch(sayFailure);
    // Before its turn begins an abort would cancel the message itself.
    if (shown.hasBegun) shown.controller.abort();
    else void this.#stopIfRunning(shown).catch(sayFailure);
    return true;
  }

  async #restoreQueued(): Promise<void> {
    const waiting = this.#queued;
    const back: string[] = [];
    for (const one of waiting) if (await this.#takeBack(one)) back.push(one.text);
    if (back.length > 0) this.#options.restore?.(back.join('\n'));
  }

  /** @returns false if its turn has begun, so it is part of the conversation. */
  async #takeBack(one: SentMessage): Promise<boolean> {
    const { inboxId } = await one.turn.accepted;
    const { state } = await this.#options.reprise.store.inbox.get(inboxId);
    if (state !== 'accepted' || !one.isQueued) return false;
    one.isWithdrawn = true;
    one.controller.abort(); // cancels a message whose turn has not begun
    return true;
  }

  /** Stopping the turn that runs must not start the next one. */
  leave(): void {
    this.#isLeaving = true;
    this.#options.reprise.holdQueue();
  }

  async #run(command: Command, running: AbortController): Promise<boolean> {
    const { reprise, models, confirm, config } = this.#options;
    const { signal } = running;
    const here = this.#here;
    const result = await runCommand(command, {
      reprise,
      session: here,
      surface: 'repl',
      signal,
      confirm,
      listed: this.#listed,
      listedModels: this.#listedModels,
      modelByName: (name) => models.load(name),
      ...(config !== undefined && {
        listModels: () => listModels(config),
        fullModelName: (name: string) => findModelName(name, config),
      }),
    });
    if (result.copy !== undefined && !copyToClipboard(result.copy))
      throw failure('UNAVAILABLE', 'copy.failed');
    if (result.code === 'ABORTED' && signal.aborted) say('(stopped)');
    else printCommandResult(result);
    const { name, sessionId, turn, save, quit } = result;
    this.#listed = result.listed ?? this.#listed;
    this.#listedModels = result.listedModels ?? this.#listedModels;
    if (sessionId !== undefined && sessionId !== this.#here.id) {
      await this.enter(await reprise.session({ id: sessionId }));
      if (name === 'switch') await this.showLast();
      await this.begin(running);
    }
    if (save !== undefined) await keep(reprise.store, save);
    if (turn !== undefined) await this.#converse([new SentMessage({ text: '', turn, controller: running })]);
    return quit !== true;
  }

  get #here(): Session {
    if (this.#session === undefined) throw failure('INVALID_INPUT', 'cli.noMessagesYet');
    return this.#session;
  }

  /** Throws if a file that the message names cannot be sent. */
  #send(text: string): SentMessage {
    const input = withFiles(text);
    return this.#sent(text, (signal) => this.#here.send(input, { signal, queueMode: 'session' }));
  }

  #sent(text: string, start: (signal: AbortSignal) => TurnStream): SentMessage {
    const controller = new AbortController();
    const sent: SentMessage = new SentMessage(
      { text, turn: start(controller.signal), controller },
      (one, turnId) => {
        // It joined the turn that is shown.
        const round = this.#round;
        if (round !== undefined && round.shown !== one && round.turnId === turnId) this.#view.echo(text);
      },
    );
    return sent;
  }

  async #converse(sent: SentMessage[]): Promise<void> {
    const round: Round = { sent, shown: undefined, turnId: undefined, seenTurns: new Set() };
    this.#round = round;
    this.#view.begin();
    try {
      // The list can grow during the loop: messages typed meanwhile are shown in order.
      for (const one of sent) {
        if (this.#isLeaving) break;
        if (one.isWithdrawn) continue;
        round.shown = one;
        await this.#show(one, round);
      }
    } finally {
      this.#view.end();
      this.#round = undefined;
    }
    if (this.#isLeaving) await this.#reportQueued(sent);
  }

  async #show(one: SentMessage, round: Round): Promise<void> {
    const { turn } = one;
    this.#view.begin();
    const isFirst = one === round.sent[0];
    let start: Extract<TurnEvent, { type: 'turn_start' }> | undefined;
    let isShownAlready = false;
    try {
      for await (const event of one.events()) {
        if (event.type === 'turn_start') {
          start = event;
          round.turnId = event.turnId;
          isShownAlready = round.seenTurns.has(event.turnId);
          if (!isFirst && !isShownAlready) this.#view.echo(one.text);
          round.seenTurns.add(event.turnId);
          if (one.isStopped) one.controller.abort();
        } else if (event.type === 'model_fallback') this.#reportFallback(event);
        else if (event.type === 'entry' && one.isStopped) await this.#stopIfRunning(one);
        // No "queued" line for a message typed during an answer: the user expects it to wait.
        if (!isShownAlready && (isFirst || event.type !== 'queued')) this.#view.show(event);
        if (event.type !== 'done') continue;
        this.#view.end();
        if (isShownAlready) continue;
        if (start !== undefined && this.#options.isLive)
          say(style('dim', escapeForTerminal(await statusLine(this.#here, start.model, event))));
        else if (isFirst && start === undefined) print(escapeForTerminal(event.text));
      }
      await turn.result; // throws what the turn ended with
    } catch (error) {
      this.#view.end();
      if (one.isWithdrawn) return;
      if (!isAborted(error)) sayFailure(error);
      else if (one.isStopped) say('(stopped)');
      // With the queue mode `interrupt` a newer message of the same person ends the turn.
      else if (!isShownAlready) say('(interrupted)');
    }
  }

  /** A turn that another process runs sends no `turn_start` here, so its row is read. */
  async #stopIfRunning(one: SentMessage): Promise<void> {
    const { inboxId } = await one.turn.accepted;
    const { state } = await this.#options.reprise.store.inbox.get(inboxId);
    if (state !== 'accepted') one.controller.abort();
  }

  async #reportQueued(sent: readonly SentMessage[]): Promise<void> {
    // The store closes next, so wait until each message is accepted.
    await Promise.allSettled(sent.map(({ turn }) => turn.accepted));
    const queued = (await this.#options.reprise.store.inbox.pending(this.#here.id)).filter(isOfThisChat);
    if (queued.length === 0) return;
    const isOne = queued.length === 1;
    say(
      `${counted(queued.length, 'queued message')} ${isOne ? 'is' : 'are'} kept and ${isOne ? 'runs' : 'run'} when you resume this session.`,
    );
  }
}

/** Queued by a user in a terminal or on the page, not by a channel, a child agent or a command. */
function isOfThisChat(item: InboxItem): boolean {
  const { from, silent, system, text } = item.body;
  const isTyped = from === undefined && silent !== true && system !== true && typeof text === 'string';
  return isTyped && (isWaiting(item) || isRunning(item));
}

function isAborted(error: unknown): boolean {
  return error instanceof RepriseError && error.code === 'ABORTED';
}

async function keep(store: Store, save: NonNullable<CommandResult['save']>): Promise<void> {
  const { sessionId, name, redact } = save;
  const format = formatByName(name);
  try {
    // Never overwrite an existing file.
    await exportFile(store, await store.get(sessionId), { format, file: name, redact, seals: !redact });
  } catch (error) {
    if (!(error instanceof RepriseError) || error.code !== 'INVALID_INPUT') throw error;
    throw sameFailure(error, { details: { ...error.details, next: 'Name another file: /export <file>' } });
  }
  say(`Written to ${escapeForTerminal(name)} as ${format}.`);
}
