import { Agent, get } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { type Client, createClient, RepriseError } from '../../../src/client/index.ts';
import type { Answer } from '../../../testing/crash/driver-process.ts';
import { type Attempt, createHistory, type History, textOf } from '../../../testing/crash/history.ts';
import { createRandom, type Random } from '../../../testing/crash/random.ts';
import { ask, type Answer as HttpAnswer, TOKEN } from './http.ts';

/** What a client does next, and how often. */
const MIX: readonly (readonly [Act, number])[] = [
  ['append', 0.5],
  ['chat', 0.2],
  ['read', 0.12],
  ['list', 0.06],
  ['join', 0.06],
  ['refused', 0.06],
];
/** Messages a client has open at a time: all of them together fit into the queue of a session. */
const MAX_OPEN = 3;
/** So much of the end of a stream is kept to read its last event in. */
const LAST_CHARS = 64 * 1024;
const JOINED_FRAMES = 20;
const PAUSE_MS = 10;
/** Before a server that is gone is asked again. */
const DOWN_MS = 200;
const PATIENCE_MS = 180_000;
const OK: Answer = { n: null, ok: true };
const UNKNOWN: Answer = { n: null, ok: false, outcome: 'unknown' };
const REFUSED: Answer = { n: null, ok: false, outcome: 'none' };

type Act = 'append' | 'chat' | 'read' | 'list' | 'join' | 'refused';

export interface ServerLoadOptions {
  readonly port: number;
  readonly sessions: readonly [string, ...string[]];
  readonly seed: number;
  readonly clients?: number;
}

interface Heard {
  readonly status: number;
  readonly last: string;
}

/** What a client received about a message, to be compared with what is stored. */
export interface ToldMessage {
  readonly sessionId: string;
  readonly text: string;
  readonly ends: string[];
}

/**
 * Clients of one server that may be killed at any time: each sends messages on both routes, reads, lists and listens.
 * Everything that was sent stands in a history as the server answered it; an answer that did not come is asked for
 * again with the same key.
 *
 * None of them pauses: after an answer, a client does the next thing at once, on its connection. The only wait is for
 * the oldest of its messages when `MAX_OPEN` are unanswered, and that is a stream until its end, not a row of questions.
 * What is read and listed is received whole and counted, but not parsed: it is the server that is measured.
 */
export class ServerLoad {
  readonly history: History = createHistory();
  /** By inbox id: how messages ended that were listened to. */
  readonly told: Map<string, ToldMessage> = new Map();
  /** What no server should ever answer. */
  readonly errors: string[] = [];
  /** Of appends that were answered at once, in milliseconds. */
  readonly appendMs: number[] = [];
  readonly counts: Record<Act | 'lost' | 'landed', number> = {
    append: 0,
    chat: 0,
    read: 0,
    list: 0,
    join: 0,
    refused: 0,
    /** Requests without an answer. */
    lost: 0,
    /** Messages that had been taken in when they were sent again. */
    landed: 0,
  };
  readonly #options: ServerLoadOptions;
  /** By session: the last key that was accepted. */
  readonly #taken: Map<string, string> = new Map();
  readonly #client: Client;
  readonly #running: Promise<void>;
  #isStopping = false;

  constructor(options: ServerLoadOptions) {
    this.#options = options;
    const { port, seed, clients = 16 } = options;
    this.#client = createClient({
      url: `http://127.0.0.1:${port}`,
      token: TOKEN,
      retries: 1000,
      backoffMs: DOWN_MS,
    });
    // Each has its own choices, so that the order of answers does not change them.
    const all = Array.from({ length: clients }, (_, at) => this.#run(createRandom(seed * 1000 + at), at));
    this.#running = Promise.all(all).then(() => undefined);
  }

  get acknowledged(): number {
    return this.counts.append + this.counts.chat;
  }

  /** Until so many messages were acknowledged. */
  async reach(goal: number): Promise<void> {
    for (const deadline = performance.now() + PATIENCE_MS; this.acknowledged < goal; await wait(1))
      if (performance.now() > deadline)
        throw new Error(`the load does not move: ${this.acknowledged} of ${goal}; ${this.errors.join('; ')}`);
  }

  /** Starts nothing more, and resolves when everything that was sent is known and has ended. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#running;
  }

  async #run(random: Random, at: number): Promise<void> {
    const { sessions } = this.#options;
    // Few share a session, so that the messages they have open fit into its queue.
    const sessionId = sessions[at % sessions.length] ?? sessions[0];
    const open: string[] = [];
    // A connection that was idle for a second is left before the server leaves it: what was lost is the server's fault.
    const agent = new Agent({ keepAlive: true, maxSockets: 1, agentKeepAliveTimeoutBuffer: 4000 });
    try {
      while (!this.#isStopping) {
        const act = choose(random);
        if (act === 'append' || act === 'chat') {
          const attempt = this.history.begin({ session: sessionId, sizes: [random.skewed(20, 20_000)] });
          if (act === 'append') open.push(await this.#append(attempt, random, agent));
          else await this.#chat(attempt);
        } else await this.#do(act, sessionId, random, agent);
        while (open.length >= MAX_OPEN) await this.#ended(open.shift() ?? '', sessionId, agent);
      }
      for (const inboxId of open) await this.#ended(inboxId, sessionId, agent);
    } catch (error) {
      this.errors.push(String(error));
    } finally {
      agent.destroy();
    }
  }

  /** Durable when it is answered, and only then; until then it is sent again. */
  async #append(attempt: Attempt, random: Random, agent: Agent): Promise<string> {
    const { key, session } = attempt;
    const mode = random.chance(0.1) ? 'reject' : 'followup';
    const body = { text: textOf(attempt, 0), channel: 'web', sessionId: session, queue: mode };
    const deadline = performance.now() + PATIENCE_MS;
    for (let tries = 1; ; tries++) {
      const began = performance.now();
      const answer = await this.#ask('/api/inbound', { method: 'POST', body, headers: keyed(key), agent });
      if (answer?.status === 202 || answer?.status === 200) {
        this.history.settle(key, OK);
        this.#taken.set(session, key);
        this.counts.append++;
        if (tries > 1 && answer.json['fresh'] === false) this.counts.landed++;
        if (tries === 1) this.appendMs.push(performance.now() - began);
        return String(answer.json['inboxId']);
      }
      this.history.settle(key, answer === undefined ? UNKNOWN : REFUSED);
      // Busy is the expected answer; a client without any answer yet asks again.
      if (answer !== undefined && answer.json.code !== 'SESSION_BUSY') {
        this.errors.push(`${answer.status} ${answer.text}`);
        return '';
      }
      if (answer !== undefined && this.history.attempts.get(key)?.outcome === 'refused') return '';
      if (performance.now() > deadline) throw new Error(`${key} is not accepted in ${PATIENCE_MS} ms`);
      await wait(PAUSE_MS);
    }
  }

  /** Through our own client, which hides what breaks: one end is heard. */
  async #chat(attempt: Attempt): Promise<void> {
    const { key, session } = attempt;
    const request = { message: textOf(attempt, 0), sessionId: session, queue: 'followup' } as const;
    const ends: string[] = [];
    let text = '';
    let inboxId = '';
    for await (const event of this.#client.chat('main', request, { idempotencyKey: key })) {
      if (event.type === 'session') {
        inboxId = event.inboxId ?? '';
        this.history.settle(key, OK);
        this.counts.chat++;
      } else if (event.type === 'text_delta') text += event.text;
      else if (event.type === 'interrupted') text = event.text;
      else if (event.type === 'error') this.errors.push(`${key}: ${event.code} ${event.error}`);
      else if (event.type === 'done' && event.text !== text)
        this.errors.push(`${key}: heard ${text.length} characters of ${event.text.length}`);
      if (event.type === 'done' || event.type === 'error') ends.push(event.type);
    }
    this.told.set(inboxId, { sessionId: session, text, ends });
  }

  async #do(act: Act, sessionId: string, random: Random, agent: Agent): Promise<void> {
    if (act === 'refused') return this.#refused(sessionId, agent);
    if (act === 'join') return this.#join(sessionId, agent);
    const limit = random.integer(1, 200);
    const path =
      act === 'list'
        ? `/api/sessions?limit=${limit}`
        : `/api/agents/main/sessions/${sessionId}?limit=${limit}`;
    const answer = await this.#ask(path, { agent });
    if (answer === undefined) return;
    this.counts[act]++;
    // It has no messages yet.
    const isNew = act === 'read' && answer.status === 404;
    if (answer.status !== 200 && !isNew) this.errors.push(`${act}: ${answer.status} ${answer.text}`);
  }

  /** Listens for a while, as a page does that is opened and closed again. */
  async #join(sessionId: string, agent: Agent): Promise<void> {
    const heard = await this.#listen(`sessionId=${sessionId}`, { agent, frames: JOINED_FRAMES });
    if (heard === undefined) return;
    this.counts.join++;
    if (heard.status !== 200 && heard.status !== 404) this.errors.push(`join: ${heard.status} ${heard.last}`);
  }

  /** Another text under a key that is taken: it must never be found. */
  async #refused(sessionId: string, agent: Agent): Promise<void> {
    const taken = this.#taken.get(sessionId);
    if (taken === undefined) return;
    const attempt = this.history.begin({ session: sessionId, sizes: [40] });
    this.history.settle(attempt.key, REFUSED);
    const body = { text: textOf(attempt, 0), channel: 'web', sessionId, queue: 'followup' };
    const answer = await this.#ask('/api/inbound', { method: 'POST', body, headers: keyed(taken), agent });
    if (answer === undefined) return;
    this.counts.refused++;
    if (answer.status !== 422) this.errors.push(`a key used twice: ${answer.status} ${answer.text}`);
  }

  /** Until its end was heard; a stream that breaks off is opened again. */
  async #ended(inboxId: string, sessionId: string, agent: Agent): Promise<void> {
    if (inboxId === '') return;
    for (const deadline = performance.now() + PATIENCE_MS; ; ) {
      const heard = await this.#listen(`sessionId=${sessionId}&inboxId=${inboxId}`, { agent });
      if (heard?.last.includes('"type":"done"') === true) return;
      if (heard !== undefined && (heard.status !== 200 || heard.last.includes('"type":"error"')))
        throw new RepriseError('STORE_FAILED', `${inboxId} is ${heard.status} ${heard.last}`);
      if (performance.now() > deadline) throw new Error(`${inboxId} has no end in ${PATIENCE_MS} ms`);
    }
  }

  /** The last event of a stream, read to its end or for this many frames; undefined: it broke off. */
  async #listen(
    query: string,
    { agent, frames }: { agent: Agent; frames?: number },
  ): Promise<Heard | undefined> {
    const path = `/api/agents/main/chat/stream?${query}`;
    const headers = { authorization: `Bearer ${TOKEN}`, accept: 'text/event-stream' };
    try {
      return await new Promise<Heard>((resolve, reject) => {
        const request = get(
          { host: '127.0.0.1', port: this.#options.port, path, agent, headers },
          (response) => {
            let [last, left] = ['', frames ?? Number.POSITIVE_INFINITY];
            const end = (): void => resolve({ status: response.statusCode ?? 0, last });
            response.setEncoding('utf8').on('data', (text: string) => {
              last = (last + text).slice(-LAST_CHARS);
              left -= text.split('\n\n').length - 1;
              if (left > 0) return;
              end();
              request.destroy();
            });
            response.on('end', () => {
              last = last.trimEnd();
              last = last.slice(last.lastIndexOf('\n\n') + 1);
              end();
            });
            response.on('error', reject);
          },
        );
        request.on('error', reject);
      });
    } catch {
      this.counts.lost++; // killed meanwhile
      await wait(DOWN_MS);
      return undefined;
    }
  }

  /** Undefined: no answer came, and the outcome is unknown. */
  async #ask(path: string, options: Parameters<typeof ask>[2] = {}): Promise<HttpAnswer | undefined> {
    try {
      const answer = await ask(this.#options.port, path, options);
      return answer.status === 503 && answer.json['outcome'] === 'unknown' ? undefined : answer;
    } catch {
      this.counts.lost++; // the server was killed, or is not there yet
      await wait(DOWN_MS);
      return undefined;
    }
  }
}

const keyed = (key: string) => ({ 'Idempotency-Key': key });

function choose(random: Random): Act {
  let left = random.next();
  for (const [act, share] of MIX) {
    left -= share;
    if (left < 0) return act;
  }
  return 'append';
}
