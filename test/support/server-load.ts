import { setTimeout as wait } from 'node:timers/promises';
import { type Client, createClient, RepriseError } from '../../src/client/index.ts';
import type { Answer } from '../../src/testing/crash/driver-process.ts';
import { type Attempt, createHistory, type History, textOf } from '../../src/testing/crash/history.ts';
import { createRandom, type Random } from '../../src/testing/crash/random.ts';
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
const PAUSE_MS = 10;
/** Before a server that is gone is asked again. */
const DOWN_MS = 200;
const PATIENCE_MS = 120_000;
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

/** What somebody was told about a message, to be compared with what is stored. */
export interface ToldMessage {
  readonly sessionId: string;
  readonly text: string;
  readonly ends: string[];
}

/**
 * Clients of one server that may be killed at any time: each says things by both doors, reads, lists and listens.
 * Everything that was said stands in a history as the server answered it; an answer that did not come is asked for
 * again with the same key.
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

  /** Begins nothing more, and resolves when everything that was said is known and has ended. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#running;
  }

  async #run(random: Random, at: number): Promise<void> {
    const { sessions } = this.#options;
    // Few share a session, so that the messages they have open fit into its queue.
    const sessionId = sessions[at % sessions.length] ?? sessions[0];
    const open: string[] = [];
    try {
      while (!this.#isStopping) {
        const act = choose(random);
        if (act === 'append' || act === 'chat') {
          const attempt = this.history.begin({ session: sessionId, sizes: [random.skewed(20, 20_000)] });
          if (act === 'append') open.push(await this.#append(attempt, random));
          else await this.#chat(attempt);
        } else await this.#do(act, sessionId, random);
        while (open.length >= MAX_OPEN) await this.#ended(open.shift() ?? '');
      }
      for (const inboxId of open) await this.#ended(inboxId);
    } catch (error) {
      this.errors.push(String(error));
    }
  }

  /** Durable when it is answered, and only then; until somebody says so it is sent again. */
  async #append(attempt: Attempt, random: Random): Promise<string> {
    const { key, session } = attempt;
    const mode = random.chance(0.1) ? 'reject' : 'followup';
    const body = { text: textOf(attempt, 0), channel: 'web', sessionId: session, queue: mode };
    const deadline = performance.now() + PATIENCE_MS;
    for (let tries = 1; ; tries++) {
      const began = performance.now();
      const answer = await this.#ask('/api/inbound', { method: 'POST', body, headers: keyed(key) });
      if (answer?.status === 202 || answer?.status === 200) {
        this.history.settle(key, OK);
        this.counts.append++;
        if (tries > 1 && answer.json['fresh'] === false) this.counts.landed++;
        if (tries === 1) this.appendMs.push(performance.now() - began);
        return String(answer.json['inboxId']);
      }
      this.history.settle(key, answer === undefined ? UNKNOWN : REFUSED);
      // Busy is what it asked to be told; whoever had no answer yet goes on asking.
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

  async #do(act: Act, sessionId: string, random: Random): Promise<void> {
    if (act === 'refused') return this.#refused(sessionId);
    if (act === 'join') return this.#join(sessionId);
    const limit = random.integer(1, 200);
    const path =
      act === 'list'
        ? `/api/sessions?limit=${limit}`
        : `/api/agents/main/sessions/${sessionId}?limit=${limit}`;
    const answer = await this.#ask(path);
    if (answer === undefined) return;
    this.counts[act]++;
    // Nobody has spoken to it yet.
    const isNew = act === 'read' && answer.status === 404;
    if (answer.status !== 200 && !isNew) this.errors.push(`${act}: ${answer.status} ${answer.text}`);
  }

  /** Listens for a while, as a page does that is opened and closed again. */
  async #join(sessionId: string): Promise<void> {
    const path = `/api/agents/main/chat/stream?sessionId=${sessionId}`;
    try {
      const response = await fetch(`http://127.0.0.1:${this.#options.port}${path}`, {
        headers: { authorization: `Bearer ${TOKEN}`, accept: 'text/event-stream' },
        signal: AbortSignal.timeout(PATIENCE_MS),
      });
      if (response.status !== 200 && response.status !== 404) this.errors.push(`join: ${response.status}`);
      this.counts.join++;
      let frames = 0;
      for await (const _ of response.body ?? []) if (++frames > 20) break;
    } catch {
      this.counts.lost++; // killed meanwhile
    }
  }

  /** Another text under a key that is taken: it must never be found. */
  async #refused(sessionId: string): Promise<void> {
    const [taken] = [...this.history.attempts.values()]
      .filter(({ session, outcome }) => session === sessionId && outcome === 'ok')
      .slice(-1);
    if (taken === undefined) return;
    const attempt = this.history.begin({ session: sessionId, sizes: [40] });
    this.history.settle(attempt.key, REFUSED);
    const body = { text: textOf(attempt, 0), channel: 'web', sessionId, queue: 'followup' };
    const answer = await this.#ask('/api/inbound', { method: 'POST', body, headers: keyed(taken.key) });
    if (answer === undefined) return;
    this.counts.refused++;
    if (answer.status !== 422) this.errors.push(`a key used twice: ${answer.status} ${answer.text}`);
  }

  async #ended(inboxId: string): Promise<void> {
    if (inboxId === '') return;
    for (const deadline = performance.now() + PATIENCE_MS; ; await wait(PAUSE_MS)) {
      const answer = await this.#ask(`/api/inbox/${inboxId}`);
      const status = answer?.json['status'];
      if (status === 'done') return;
      if (answer !== undefined && status !== 'accepted' && status !== 'running')
        throw new RepriseError('STORE_FAILED', `${inboxId} is ${answer.status} ${answer.text}`);
      if (performance.now() > deadline) throw new Error(`${inboxId} has no end in ${PATIENCE_MS} ms`);
    }
  }

  /** Undefined: no answer came, and nobody knows what was done. */
  async #ask(path: string, options: Parameters<typeof ask>[2] = {}): Promise<HttpAnswer | undefined> {
    try {
      const answer = await ask(this.#options.port, path, options);
      return answer.json?.['outcome'] === 'unknown' ? undefined : answer;
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
