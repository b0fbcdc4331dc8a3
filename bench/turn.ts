import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { openReprise } from '../src/config/open-reprise.ts';
import type { Reprise } from '../src/engine/reprise.ts';
import type { Session } from '../src/engine/session.ts';
import { Answer } from '../src/models/answer.ts';
import type { Model } from '../src/models/model.ts';
import { usageOf } from '../src/models/usage.ts';
import { countCalls, countWork, type Work } from './count-work.ts';
import type { Scale } from './homes.ts';
import { compareSlices, latency, median, type Row, rate, type Task } from './measure.ts';
import { nextTurn } from './payload.ts';
import { openServer } from './postgres.ts';
import { RawFiles } from './raw.ts';

const KINDS = ['jsonl', 'sqlite'] as const;
const DATABASES = { jsonl: 'control.db', sqlite: 'store.db' } as const;
const SESSIONS = 64;
const LONG = 2_000;
/** Of a user message and a short answer, as stored. */
const RAW_BYTES = Buffer.alloc(600, 'x');
/** Turns make a conversation longer, so a short one is replaced after so many. Medians do not see that. */
const TURNS_PER_SESSION = 20;
const ENTRIES_PER_APPEND = 500;

/**
 * Answers at once and costs the same whatever it is asked: what is measured is the way of a message through the engine
 * and the store. The offline model looks at the whole request.
 */
function constantModel(): Model {
  const model: Model = {
    id: 'constant',
    provider: 'bench',
    api: 'bench',
    target: { family: 'local', provider: 'bench', model: 'constant' },
    contextWindow: 4_000_000,
    async *stream() {
      const answer = new Answer();
      const delta = { type: 'text_delta', block: 0, text: 'Yes.' } as const;
      answer.take(delta);
      yield delta;
      const usage = usageOf({ input: 100, output: 2 });
      yield {
        type: 'finish',
        stopReason: 'stop',
        usage,
        message: answer.message(model, { stopReason: 'stop', usage }),
      };
    },
  };
  return model;
}

interface Engine extends AsyncDisposable {
  readonly reprise: Reprise;
  readonly control: string;
}

async function openEngine(folder: string, store: (typeof KINDS)[number]): Promise<Engine> {
  const home = mkdtempSync(join(folder, `turn-${store}-`));
  const session = { queue: { debounceMs: 0 } };
  const reprise = await openReprise({
    home,
    store,
    model: constantModel(),
    session,
    lanes: { turns: SESSIONS },
  });
  const control = join(home, DATABASES[store]);
  return { reprise, control, [Symbol.asyncDispose]: () => reprise[Symbol.asyncDispose]() };
}

let sessions = 0;

/** A new session with so many messages, which has had its first turn. */
async function newSession({ reprise }: Pick<Engine, 'reprise'>, messages: number): Promise<Session> {
  const session = await reprise.session(`agent:main:direct:turn-${++sessions}`);
  const entries = Array.from({ length: messages / 2 }, nextTurn).flat();
  for (let at = 0; at < entries.length; at += ENTRIES_PER_APPEND)
    await reprise.store.append(session.id, entries.slice(at, at + ENTRIES_PER_APPEND));
  await turn(session);
  return session;
}

function turn(session: Session): Promise<unknown> {
  return session.send('hi').result;
}

/** Turns in one session, or in one session after the other. */
function turnsOf(
  engine: Pick<Engine, 'reprise'>,
  messages: number,
  perSession: number = messages === 0 ? TURNS_PER_SESSION : Number.POSITIVE_INFINITY,
): () => Promise<unknown> {
  let session: Promise<Session> | undefined;
  let left = 0;
  return async () => {
    if (left-- <= 0) {
      session = newSession(engine, messages);
      left = perSession;
    }
    return turn(await (session as Promise<Session>));
  };
}

function noteOf({ trips, commits, files, cpuMs }: Work): string {
  return `${commits} commits, ${trips} round trips, ${files} files on the main thread, ${cpuMs.toFixed(1)} ms CPU`;
}

async function counted(engine: Engine): Promise<string> {
  countCallsOnce();
  const session = await newSession(engine, 0);
  return noteOf(await countWork(() => turn(session), { control: engine.control }));
}

let isCounting = false;
function countCallsOnce(): void {
  if (!isCounting) countCalls();
  isCounting = true;
}

/** What one `send` costs from the call to the end of its turn, with a model that costs nothing. */
export function turnTasks(folder: string, scale: Scale): Task[] {
  return [
    ...KINDS.flatMap((kind) => [shortTurn(folder, kind, scale), longTurn(folder, kind, scale)]),
    ...KINDS.map((kind) => manySessions(folder, kind, scale)),
    ...KINDS.map((kind) => acceptAlone(folder, kind, scale)),
    ...postgresTurns(scale),
  ];
}

function shortTurn(folder: string, kind: (typeof KINDS)[number], scale: Scale): Task {
  const work = `turn, short history, ${kind} (p50)`;
  const run = async (): Promise<Row> => {
    await using engine = await openEngine(folder, kind);
    using raw = new RawFiles(folder, `whole-turn-${kind}`, 1);
    const limit = latency('append 600 bytes + fdatasync', () => raw.append(RAW_BYTES));
    const ours = latency('send', turnsOf(engine, 0));
    const row = await compareSlices({ work, limit, ours, goal: kind === 'jsonl' ? 12 : 11 }, scale.latency);
    return { ...row, note: await counted(engine) };
  };
  return { work, run };
}

function longTurn(folder: string, kind: (typeof KINDS)[number], scale: Scale): Task {
  const work = `turn, ${LONG.toLocaleString('en')} messages in context, ${kind} (p50)`;
  const run = async (): Promise<Row> => {
    await using engine = await openEngine(folder, kind);
    const limit = latency('short history', turnsOf(engine, 0));
    const ours = latency('send', turnsOf(engine, LONG));
    return await compareSlices({ work, limit, ours, goal: 1.3 }, scale.latency);
  };
  return { work, run };
}

function manySessions(folder: string, kind: (typeof KINDS)[number], scale: Scale): Task {
  const work = `turns of ${SESSIONS} sessions at once, ${kind}`;
  const run = async (): Promise<Row> => {
    await using engine = await openEngine(folder, kind);
    using raw = new RawFiles(folder, `whole-turns-${kind}`, SESSIONS);
    const limit = rate('append 600 bytes + fdatasync, 64 files', 'turns', (i) => raw.appendTo(i, RAW_BYTES), {
      callers: SESSIONS,
    });
    const own = Array.from({ length: SESSIONS }, () => turnsOf(engine, 0, Number.POSITIVE_INFINITY));
    const ours = rate('send', 'turns', (i) => own[i]?.(), { callers: SESSIONS });
    return await compareSlices(
      { work, limit, ours, goal: kind === 'jsonl' ? 0.12 : 0.14, better: 'higher' },
      scale.rate,
    );
  };
  return { work, run };
}

/** The receipt of a message that runs no turn yet, because another turn of its session runs. */
function acceptAlone(folder: string, kind: (typeof KINDS)[number], scale: Scale): Task {
  const work = `accept, awaited, ${kind} (p50)`;
  const run = async (): Promise<Row> => {
    await using engine = await openEngine(folder, kind);
    using raw = new RawFiles(folder, `accept-${kind}`, 1);
    const limit = latency('append 600 bytes + fdatasync', () => raw.append(RAW_BYTES));
    let last: Promise<unknown> = Promise.resolve();
    const slice = async (ms: number): Promise<readonly number[]> => {
      const samples: number[] = [];
      const end = performance.now() + ms;
      while (performance.now() < end) {
        await last;
        const session = await newSession(engine, 0);
        const start = performance.now();
        const sent = session.send('hi');
        await sent.accepted;
        samples.push(performance.now() - start);
        last = sent.result;
      }
      await last;
      return [median(samples)];
    };
    return await compareSlices(
      { work, limit, ours: { name: 'send', unit: 'ms', slice }, goal: 6 },
      scale.latency,
    );
  };
  return { work, run };
}

/** Goals are what DBOS needs for a workflow of two steps on the same server, 24 times the insert and 0.05 of its rate. */
function postgresTurns(scale: Scale): Task[] {
  const one = 'turn, short history, postgres (p50)';
  const many = `turns of ${SESSIONS} sessions at once, postgres`;
  const open = async (): Promise<{ server: Awaited<ReturnType<typeof openServer>>; reprise: Reprise }> => {
    const server = await openServer();
    const session = { queue: { debounceMs: 0 } };
    const { store } = server;
    const reprise = await openReprise({ store, model: constantModel(), session, lanes: { turns: SESSIONS } });
    return { server, reprise };
  };
  const insert = (pool: Awaited<ReturnType<typeof openServer>>['pool']): (() => Promise<unknown>) => {
    let seq = 0;
    const text = 'INSERT INTO raw_lines (session_id, seq, line) VALUES ($1, $2, $3)';
    return () => pool.query({ name: 'raw-turn', text, values: ['turn', ++seq, RAW_BYTES.toString()] });
  };
  return [
    {
      work: one,
      run: async () => {
        const { server, reprise } = await open();
        await using _server = server;
        await using _reprise = reprise;
        const limit = latency('insert 600 bytes', insert(server.pool));
        const ours = latency('send', turnsOf({ reprise }, 0));
        const row = await compareSlices({ work: one, limit, ours, goal: 24 }, scale.latency);
        countCallsOnce();
        const session = await newSession({ reprise }, 0);
        return { ...row, note: noteOf(await countWork(() => turn(session))) };
      },
    },
    {
      work: many,
      run: async () => {
        const { server, reprise } = await open();
        await using _server = server;
        await using _reprise = reprise;
        const limit = rate('insert 600 bytes, pool of 10', 'turns', insert(server.pool), {
          callers: SESSIONS,
        });
        const own = Array.from({ length: SESSIONS }, () => turnsOf({ reprise }, 0, Number.POSITIVE_INFINITY));
        const ours = rate('send', 'turns', (i) => own[i]?.(), { callers: SESSIONS });
        return await compareSlices({ work: many, limit, ours, goal: 0.05, better: 'higher' }, scale.rate);
      },
    },
  ];
}
