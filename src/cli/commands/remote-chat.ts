import { randomUUID } from 'node:crypto';
import type { StreamEvent } from '../../client/index.ts';
import { sessionName } from '../../engine/commands/session-line.ts';
import { findCommand, parseCommand, unknownCommandText } from '../../engine/commands.ts';
import { ERROR_TABLE, type ErrorCode, RepriseError } from '../../errors.ts';
import { buildAgentMainSessionKey } from '../../keys/build.ts';
import { isInteractive } from '../ask.ts';
import { type Options, textOption } from '../options.ts';
import { pickSession } from '../pick.ts';
import { escapeForTerminal, print, printError, say } from '../print.ts';
import { openRemoteBackend, type RemoteBackend } from '../remote-backend.ts';
import { promptText } from '../repl/one-shot.ts';

const INTERRUPTED = 130;

/** Where the next message goes: a session, or a key whose session the server finds or makes. */
type Target = { readonly sessionId: string } | { readonly sessionKey: string };

/** `reprise chat --url …`: the same talk, with the sessions and the model on a server. */
export async function remoteChat(options: Options): Promise<void> {
  const url = textOption(options['url']) ?? '';
  const isOneShot = options['prompt'] !== undefined;
  const text = isOneShot ? await promptText(textOption(options['prompt']), process.stdin) : '';
  await using backend = await openRemoteBackend(url, options);
  const chat = new RemoteChat(backend, options);
  await chat.enter();
  if (isOneShot) await chat.ask(text);
  else await chat.talk(url);
}

class RemoteChat {
  readonly #backend: RemoteBackend;
  readonly #options: Options;
  #agentId: string;
  #target: Target;
  #running: AbortController | undefined;

  constructor(backend: RemoteBackend, options: Options) {
    this.#backend = backend;
    this.#options = options;
    this.#agentId = textOption(options['agent']) ?? 'main';
    this.#target = { sessionKey: buildAgentMainSessionKey({ agentId: this.#agentId }) };
  }

  /** A single question begins a session of its own, as it does at home. */
  async enter(): Promise<void> {
    const { session, resume, new: fresh, continue: last, prompt, ephemeral } = this.#options;
    if (ephemeral === true)
      throw new RepriseError('INVALID_INPUT', 'a server keeps what it is told', {
        details: { next: 'Leave out --ephemeral, or --url.' },
      });
    const ref = textOption(session);
    if (ref !== undefined) return this.#go(await this.#backend.find(ref, { status: 'open' }));
    if (resume !== undefined) return this.#go(await pickSession(this.#backend.lookup, textOption(resume)));
    if (fresh !== undefined || (prompt !== undefined && last !== true)) {
      this.#target = { sessionId: randomUUID() };
      return;
    }
    const key = buildAgentMainSessionKey({ agentId: this.#agentId });
    const record = await this.#backend.lookup.active(key);
    if (record !== undefined && prompt === undefined)
      say(`Restored: ${record.messageCount} messages of "${escapeForTerminal(sessionName(record))}".`);
  }

  /** One question, one answer on stdout. */
  async ask(text: string): Promise<void> {
    const stop = this.#begin();
    process.on('SIGINT', () => stop.abort());
    const isJson = this.#options['json'] === true;
    const isLines = isJson && this.#options['stream'] === true;
    const end = await this.#hear(this.#send(text), (event) => {
      if (isLines) print(JSON.stringify(event));
      else if (!isJson) show(event);
    });
    if (isLines) return;
    if (isJson) print(JSON.stringify(end));
    else print('');
  }

  async talk(url: string): Promise<void> {
    say(`Everything said here is kept by ${escapeForTerminal(url)}.`);
    say('/help lists commands, /quit ends; // begins a message with a slash');
    const { createInterface } = await import('node:readline');
    const terminal = isInteractive();
    const lines = createInterface({ input: process.stdin, output: process.stderr, terminal, prompt: '> ' });
    const interrupt = (): void => (this.#running === undefined ? lines.close() : this.#running.abort());
    lines.on('SIGINT', interrupt);
    process.on('SIGINT', interrupt);
    if (terminal) lines.prompt();
    for await (const line of lines) {
      if (!(await this.#answer(line))) break;
      if (terminal) lines.prompt();
    }
    lines.close();
  }

  /** False: it was the last line. What goes wrong is told, and the chat goes on. */
  async #answer(line: string): Promise<boolean> {
    try {
      if (line.trim() === '') return true;
      const parsed = parseCommand(line, { surface: 'repl' });
      if (parsed === undefined) await this.#say(line);
      else if ('message' in parsed) await this.#say(parsed.message);
      else if ('unknown' in parsed) say(escapeForTerminal(unknownCommandText(parsed)));
      else if (parsed.name === 'quit') return false;
      else await this.#command(parsed.name, `/${parsed.name} ${parsed.args}`.trim());
    } catch (error) {
      if (this.#running?.signal.aborted === true) say('(stopped; what arrived is kept)');
      else printError(error);
    } finally {
      this.#running = undefined;
    }
    return true;
  }

  async #say(text: string): Promise<void> {
    this.#begin();
    await this.#hear(this.#send(text), show);
    print('');
  }

  /** As text it was typed, and as text it goes: the server would take a slash for a command of its own. */
  #send(text: string): AsyncIterable<StreamEvent> {
    const message = text.startsWith('/') ? `/${text}` : text;
    return this.#backend.client.chat(this.#agentId, { message, ...this.#target });
  }

  async #command(name: string, command: string): Promise<void> {
    const sessionId = await this.#sessionId();
    const session = this.#backend.client.session(sessionId, { agentId: this.#agentId });
    const { text, sessionId: next, inboxId } = await session.command(command);
    (findCommand(name)?.data === true ? print : say)(escapeForTerminal(text));
    if (next !== undefined) this.#target = { sessionId: next };
    if (inboxId === undefined) return;
    // What was said for the person is answered here.
    this.#begin();
    await this.#hear(session.stream({ inboxId }), show);
    print('');
  }

  async #sessionId(): Promise<string> {
    if ('sessionId' in this.#target) return this.#target.sessionId;
    const record = await this.#backend.lookup.active(this.#target.sessionKey);
    if (record !== undefined) return record.id;
    throw new RepriseError('SESSION_NOT_FOUND', 'nothing was said here yet', {
      details: { next: 'Say something first.' },
    });
  }

  #begin(): AbortController {
    this.#running = new AbortController();
    return this.#running;
  }

  /** Leaving a stream does not stop the turn, so an interrupt says so to the server first. */
  async #hear(events: AsyncIterable<StreamEvent>, take: (event: StreamEvent) => void): Promise<StreamEvent> {
    const { client } = this.#backend;
    const stop = this.#running?.signal;
    const halt = async (): Promise<void> => {
      if ('sessionId' in this.#target)
        await client.session(this.#target.sessionId, { agentId: this.#agentId }).stop();
    };
    const onAbort = (): void => void halt().catch(() => undefined); // it may have ended meanwhile
    stop?.addEventListener('abort', onAbort, { once: true });
    try {
      for await (const event of events) {
        if (event.type === 'session') this.#target = { sessionId: event.sessionId };
        if (event.type === 'error') throw failure(event);
        take(event);
        if (event.type === 'done') return event;
      }
    } catch (error) {
      if (stop?.aborted === true) process.exitCode = INTERRUPTED;
      throw error;
    } finally {
      stop?.removeEventListener('abort', onAbort);
    }
    throw new RepriseError('CONNECT_FAILED', 'the stream ended without an end');
  }

  #go({ id, agentId }: { readonly id: string; readonly agentId: string }): void {
    this.#agentId = agentId;
    this.#target = { sessionId: id };
  }
}

function show(event: StreamEvent): void {
  if (event.type === 'text_delta') process.stdout.write(escapeForTerminal(event.text));
  else if (event.type === 'tool_call') {
    print('');
    say(`(${escapeForTerminal(`${event.name} ${JSON.stringify(event.input)}`)})`);
  } else if (event.type === 'queued') say(`(waiting behind ${event.position})`);
  else if (event.type === 'interrupted') say('(the answer was cut off; this is what was kept)');
  else if (event.type === 'compaction_end' && event.error === undefined)
    say(`(compacted: ~${event.tokensBefore} -> ~${event.tokensAfter} tokens)`);
}

function failure({ code, error, details }: Extract<StreamEvent, { type: 'error' }>): RepriseError {
  const known = Object.hasOwn(ERROR_TABLE, code) ? (code as ErrorCode) : 'MODEL_FAILED';
  return new RepriseError(known, error, details === undefined ? {} : { details });
}
