import { randomUUID } from 'node:crypto';
import type { StreamEvent } from '../../client/index.ts';
import { isListNumber, listedSession } from '../../engine/admin/ref.ts';
import {
  type Command,
  commandHelpMessages,
  commandUsage,
  findCommand,
  parseCommand,
  unknownCommandText,
} from '../../engine/commands/commands.ts';
import { ownName, sessionName } from '../../engine/commands/session-line.ts';
import type { TurnResult } from '../../engine/turn/turn-stream.ts';
import { ERROR_TABLE, type ErrorCode, RepriseError } from '../../errors.ts';
import { buildAgentMainSessionKey } from '../../keys/build.ts';
import { ENGLISH, messagesText, messageText } from '../../messages/english.ts';
import { failure } from '../../messages/failure.ts';
import { commandText, type Message, message } from '../../messages/message.ts';
import { engineUsage } from '../../protocol/events.ts';
import { openRemoteBackend, type RemoteBackend } from '../backend/remote-backend.ts';
import { fallbackText } from '../model-flag.ts';
import { type Options, textOption } from '../options.ts';
import { isInteractive } from '../terminal/ask.ts';
import { pickSession } from '../terminal/pick.ts';
import { escapeForTerminal, printJson, say, style } from '../terminal/print.ts';
import { type Answerer, ChatLoop } from './chat-loop.ts';
import { checkChoice, choiceOf, lastOwn } from './choose-session.ts';
import { printAnswer } from './command-answer.ts';
import { completions } from './completions.ts';
import { sayFailure } from './failure.ts';
import { withFiles } from './input-files.ts';
import { InputHistory } from './input-history.ts';
import { lastExchange } from './last-exchange.ts';
import { PipedLines } from './line-source.ts';
import { checkOneShot, type OneShotResult, printResult, promptText } from './one-shot.ts';
import { copyLast, saveExport } from './remote-files.ts';
import { serverTurnEvent } from './server-turn-event.ts';
import { statusLine } from './status-line.ts';
import { TerminalLines } from './terminal-lines.ts';
import { TurnView } from './turn-view.ts';

/** Abort reason of `/stop`, which also cancels queued messages and children. Ctrl-C does not. */
const EVERYTHING = Symbol('everything');

/** Of the newest rows, which contain the last exchange unless it used many tools. */
const NEWEST = 60;

/** Commands that accept a number of the last printed list. */
const TAKES_SESSION: ReadonlySet<string> = new Set(['switch', 'delete', 'repair']);

/** Where the next message is sent: to a session, or to a key for which the server finds or creates the session. */
type Target = { readonly sessionId: string } | { readonly sessionKey: string };

/** `reprise chat --url …`: the chat of a home, with sessions and models on a server. */
export async function remoteChat(options: Options): Promise<void> {
  const url = textOption(options['url']) ?? '';
  const isOneShot = options['prompt'] !== undefined;
  checkChoice(choiceOf(options));
  checkOneShot(options);
  refuseFlags(options);
  const text = isOneShot ? await promptText(textOption(options['prompt']), process.stdin) : '';
  await using backend = await openRemoteBackend(url, options);
  const chat = new RemoteChat(backend, options);
  await chat.enter();
  if (isOneShot) await chat.ask(text);
  else await chat.talk(url);
}

class RemoteChat implements Answerer {
  readonly #backend: RemoteBackend;
  readonly #options: Options;
  readonly #view: TurnView;
  #lines: TerminalLines | undefined;
  #agentId: string;
  #target: Target;
  #running: AbortController | undefined;
  /** The session is created with the first message and labeled then. */
  #isNew = false;
  #label: string | undefined;
  /** The sessions of the list that was printed last. */
  #listed: readonly string[] | undefined;
  #lastNotice = '';
  #confirm: (question: string) => Promise<boolean> = async () => false;

  constructor(backend: RemoteBackend, options: Options) {
    this.#backend = backend;
    this.#options = options;
    this.#view = new TurnView({
      ...{ out: process.stdout, talk: process.stderr, isLive: isInteractive() },
      isPlain: options['plain'] === true || process.stdout.isTTY !== true,
      typed: () => this.#lines?.typed ?? '',
      queued: () => this.#lines?.unread ?? [],
    });
    this.#agentId = textOption(options['agent']) ?? 'main';
    this.#target = { sessionKey: buildAgentMainSessionKey({ agentId: this.#agentId }) };
  }

  /** As in a home: a chat resumes the session that was used last, a single question gets a new session. */
  async enter(): Promise<void> {
    const isOneShot = this.#options['prompt'] !== undefined;
    const { agent, ref, pick, fresh, last } = choiceOf(this.#options);
    const { lookup } = this.#backend;
    if (ref !== undefined) return this.#go(await this.#backend.find(ref, { status: 'open' }));
    if (pick !== undefined) return this.#go(await pickSession(lookup, textOption(pick)));
    const record =
      fresh !== undefined || (isOneShot && last !== true) ? undefined : await lastOwn(lookup, agent);
    if (record !== undefined) this.#go(record);
    else if (fresh !== undefined || isOneShot) {
      this.#target = { sessionId: randomUUID() };
      this.#isNew = true;
      this.#label = textOption(fresh);
    }
    if (record === undefined || isOneShot) return;
    say(`Restored: ${record.messageCount} messages of "${escapeForTerminal(sessionName(record))}".`);
    const { data } = await this.#backend.history(record, { leaf: undefined, limit: NEWEST });
    const shown = { columns: process.stderr.columns, isPlain: this.#options['plain'] === true };
    for (const line of lastExchange(data, record.messageCount, shown)) say(line);
  }

  /** Asks one question and prints the answer on stdout. */
  async ask(text: string): Promise<void> {
    const stop = new AbortController();
    this.#running = stop;
    process.on('SIGINT', () => stop.abort());
    const isJson = this.#options['json'] === true;
    const isLines = isJson && this.#options['stream'] === true;
    const { session, model, fallback, done } = await this.#hear(this.#send(text), (event) => {
      if (isLines) printJson(event);
      else if (!isJson) this.#see(event);
    }).finally(() => this.#view.end());
    if (isJson && !isLines) printResult({ ...session, model, fallback, ...done });
  }

  async talk(url: string): Promise<void> {
    say(`Messages are stored by ${escapeForTerminal(url)}.`);
    say('/help lists commands, /quit ends the chat. Start a message with // to send a leading slash.');
    const { stdin: input, stderr: output } = process;
    const loop = new ChatLoop(this);
    if (isInteractive())
      this.#lines = new TerminalLines({
        ...{ input, output },
        // The server stores the messages; typed lines are not stored on this machine.
        history: new InputHistory(undefined),
        complete: (line) => completions(line, this.#backend.lookup),
        onMeanwhile: (line) => this.#meanwhile(line),
        onInterrupt: loop.interrupt,
        onTyped: () => this.#view.refresh(),
      });
    const source = this.#lines ?? new PipedLines(input);
    this.#confirm = (question) => source.confirm(question);
    await loop.run(source, textOption(this.#options['question']));
  }

  /** While an answer streams, /stop stops it. Everything else waits. */
  #meanwhile(line: string): boolean {
    const parsed = parseCommand(line, { surface: 'repl' });
    if (parsed === undefined || !('name' in parsed) || parsed.name !== 'stop') return false;
    this.#running?.abort(EVERYTHING);
    return true;
  }

  /** @returns false after the last line. Errors are printed, and the chat continues. */
  async answer(line: string, running: AbortController): Promise<boolean> {
    this.#running = running;
    try {
      if (line.trim() === '') return true;
      const parsed = parseCommand(line, { surface: 'repl' });
      if (parsed === undefined) await this.#say(line);
      else if ('message' in parsed) await this.#say(parsed.message);
      else if ('unknown' in parsed) say(escapeForTerminal(unknownCommandText(parsed)));
      else if (parsed.name === 'quit') return false;
      else await this.#command(parsed);
    } catch (error) {
      if (running.signal.aborted) say('(stopped; the partial answer is kept)');
      // A failed answer must not end the chat.
      else sayFailure(error);
    } finally {
      this.#running = undefined;
    }
    return true;
  }

  interrupt(running: AbortController): boolean {
    if (running.signal.aborted) return false;
    running.abort();
    return true;
  }

  async #say(text: string): Promise<void> {
    await this.#show(this.#send(text));
  }

  /** Afterwards the cursor is at the start of a line, also after an error. */
  async #show(events: AsyncIterable<StreamEvent>): Promise<void> {
    let heard: Heard | undefined;
    try {
      this.#view.begin();
      heard = await this.#hear(events, (event) => this.#see(event));
    } finally {
      this.#view.end();
    }
    // A message that joined the previous turn was answered there.
    if (heard.model === undefined || !isInteractive()) return;
    const session = this.#backend.client.session(heard.session.sessionId, { agentId: this.#agentId });
    say(style('dim', escapeForTerminal(await statusLine(session, heard.model, heard.done))));
  }

  #see(event: StreamEvent): void {
    const shown = serverTurnEvent(event);
    if (shown !== undefined) this.#view.show(shown);
    else if (event.type === 'interrupted')
      this.#view.note('(the answer was interrupted; the partial answer is kept)');
  }

  /** Escapes a leading slash, or the server would read the message as a command. */
  #send(text: string): AsyncIterable<StreamEvent> {
    const { text: whole, images } = withFiles(text);
    const message = whole.startsWith('/') ? `/${whole}` : whole;
    const pictures = images?.flatMap((image) => (typeof image === 'string' ? [] : [image]));
    return this.#backend.client.chat(this.#agentId, {
      message,
      ...(pictures !== undefined && { images: pictures }),
      ...this.#target,
    });
  }

  async #command({ name, args: typed }: Command): Promise<void> {
    const isNumber = TAKES_SESSION.has(name) && isListNumber(typed);
    const args = isNumber ? listedSession(this.#listed, typed) : typed;
    const command = `/${name} ${args}`.trim();
    // Handled here, because these commands need no session.
    const help = name === 'help' ? helpHere(args) : undefined;
    if (help !== undefined) return printAnswer(name, help);
    if (name === 'switch' && args !== '') return this.#switch(args);
    const sessionId = await this.#sessionId();
    const session = this.#backend.client.session(sessionId, { agentId: this.#agentId });
    if (name === 'export') return saveExport(session, args);
    if (name === 'copy') return copyLast(session);
    // The server cannot ask for confirmation.
    const isAsked = name === 'delete';
    if (isAsked && !(await this.#confirm(`Move ${args === '' ? 'this session' : args} to the trash?`))) {
      say(messageText(message('delete.nothing')));
      return;
    }
    const answer = await session.command(command, { confirm: isAsked });
    const { sessionId: next, inboxId } = answer;
    this.#listed = answer.listed ?? this.#listed;
    printAnswer(name, commandText(ENGLISH, answer));
    if (next !== undefined) this.#target = { sessionId: next };
    if (inboxId === undefined) return;
    // A command that started a turn, such as /retry: show its answer.
    await this.#show(session.stream({ inboxId }));
  }

  async #switch(ref: string): Promise<void> {
    const record = await this.#backend.find(ref, { status: 'open' });
    this.#go(record);
    const { id, messageCount: messages } = record;
    const switched = message('session.switched', { name: ownName(record), id, messages });
    say(escapeForTerminal(messageText(switched)));
  }

  async #arrive(sessionId: string): Promise<void> {
    const label = this.#label;
    this.#target = { sessionId };
    this.#isNew = false;
    this.#label = undefined;
    if (label === undefined) return;
    const session = this.#backend.client.session(sessionId, { agentId: this.#agentId });
    // The message is accepted; show its answer even if the label is refused.
    await session.patch({ label }).catch(sayFailure);
  }

  async #sessionId(): Promise<string> {
    if ('sessionId' in this.#target && !this.#isNew) return this.#target.sessionId;
    const key = 'sessionKey' in this.#target ? this.#target.sessionKey : undefined;
    const record = key === undefined ? undefined : await this.#backend.lookup.active(key);
    if (record !== undefined) return record.id;
    throw failure('SESSION_NOT_FOUND', 'cli.noMessagesYet');
  }

  /** Leaving a stream does not stop the turn, so an interrupt also sends a stop request to the server. */
  async #hear(events: AsyncIterable<StreamEvent>, take: (event: StreamEvent) => void): Promise<Heard> {
    const { client } = this.#backend;
    const stop = this.#running?.signal;
    const halt = async (): Promise<void> => {
      const waiting = stop?.reason === EVERYTHING;
      if ('sessionId' in this.#target)
        await client.session(this.#target.sessionId, { agentId: this.#agentId }).stop({ waiting });
    };
    const onAbort = (): void => void halt().catch(() => undefined); // the turn may have ended already
    stop?.addEventListener('abort', onAbort, { once: true });
    if (stop?.aborted === true) onAbort(); // aborted during the request
    let session = { sessionId: '', sessionKey: '' };
    let model: string | undefined;
    let fallback: OneShotResult['fallback'];
    try {
      for await (const event of events) {
        if (event.type === 'turn_start') model = event.model;
        if (event.type === 'model_fallback') {
          ({ model } = event);
          fallback = { wanted: event.wanted, reason: event.reason };
          this.#reportFallback(fallbackText(event));
        }
        if (event.type === 'session') {
          session = event;
          await this.#arrive(event.sessionId);
          if (stop?.aborted === true) onAbort(); // aborted before the turn was known
        }
        if (event.type === 'error') throw remoteError(event);
        take(event);
        if (event.type === 'done')
          return { session, model, fallback, done: { ...event, usage: engineUsage(event.usage) } };
      }
    } finally {
      stop?.removeEventListener('abort', onAbort);
    }
    throw failure('CONNECT_FAILED', 'client.streamEnded', { url: null });
  }

  /** Not repeated: every turn of the session has the same fallback. */
  #reportFallback(notice: string): void {
    if (notice !== this.#lastNotice) say(escapeForTerminal(notice));
    this.#lastNotice = notice;
  }

  #go({ id, agentId }: { readonly id: string; readonly agentId: string }): void {
    this.#agentId = agentId;
    this.#target = { sessionId: id };
    this.#isNew = false;
    this.#label = undefined;
  }
}

/** How an answer ended, and in which session. */
interface Heard {
  readonly session: { readonly sessionId: string; readonly sessionKey: string };
  readonly model: string | undefined;
  readonly fallback: OneShotResult['fallback'];
  readonly done: TurnResult & { readonly tokenEstimate: number };
}

/** The list of commands, and help for those a server does not run because it has no files or terminal of the user. */
function helpHere(args: string): string | undefined {
  if (args === '') return messagesText(commandHelpMessages('repl').map(asRemote));
  const row = findCommand(args.replace(/^\//, ''));
  if (row === undefined || row.surfaces.includes('http')) return undefined;
  const { name: about, aliases } = row;
  return messageText(asRemote(message('help.one', { usage: commandUsage(row), about, aliases })));
}

function asRemote(line: Message): Message {
  const isHelp = line.code === 'help.command' || line.code === 'help.one';
  if (!isHelp || line.params.about !== 'export') return line;
  return message(line.code, { ...line.params, about: 'remoteExport' });
}

/** Flags that apply to a home. With a server they would have no effect, so they are refused. */
const OF_A_HOME = ['ephemeral', 'model', 'profile', 'store', 'system'] as const;

function refuseFlags(options: Options): void {
  for (const option of OF_A_HOME) {
    if (options[option] === undefined) continue;
    throw failure('INVALID_INPUT', 'cli.serverDecides', { option });
  }
}

function remoteError({
  code,
  error,
  why,
  details = {},
}: Extract<StreamEvent, { type: 'error' }>): RepriseError {
  const known = Object.hasOwn(ERROR_TABLE, code) ? (code as ErrorCode) : 'MODEL_FAILED';
  return new RepriseError(known, error, { why, details });
}
