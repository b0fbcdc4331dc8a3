import { mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type OpenStoreOptions, openStore, type StoreKind } from '../src/config/open.ts';
import { entryIdForSeq } from '../src/exports/transcript.ts';
import type { Store } from '../src/store/port/store.ts';
import {
  type SealedSession,
  takenIn,
  transcriptPath,
  writeSealedSession,
} from '../test/support/store/sealed-home.ts';
import type { Slices } from './measure.ts';
import { nextTurn } from './payload.ts';
import { type ByteRange, lastLines, readAndParse } from './raw.ts';

/** How much is measured. Slices of rates are long enough to pay for what the store does once a second. */
export interface Scale {
  readonly latency: Slices;
  readonly rate: Slices;
  /** Messages of the long session. */
  readonly history: number;
  readonly sessions: number;
  /** Messages of the session that is read as a whole. */
  readonly scan: number;
  /** Messages of 2 KB of the session that is there while everything else happens. */
  readonly large: number;
  /** Whose turns are under way while others are measured. */
  readonly busySessions: number;
  /** How long clients are let loose on a server. */
  readonly serverSeconds: number;
}

const FULL: Scale = {
  latency: { count: 25, ms: 100 },
  rate: { count: 4, ms: 1000 },
  history: 100_000,
  sessions: 10_000,
  scan: 10_000,
  large: 100_000,
  busySessions: 1_000,
  serverSeconds: 60,
};

export const SCALES: Readonly<Record<'full' | 'quick' | 'large', Scale>> = {
  full: FULL,
  quick: {
    latency: { count: 6, ms: 50 },
    rate: { count: 3, ms: 300 },
    history: 10_000,
    sessions: 1_000,
    scan: 2_000,
    large: 10_000,
    busySessions: 1_000,
    serverSeconds: 10,
  },
  /** Takes minutes to fill. */
  large: { ...FULL, history: 1_000_000, sessions: 100_000, scan: 100_000 },
};

export interface Home {
  readonly folder: string;
  readonly store: Store;
  readonly transcript: (id: string) => string;
}

export interface HistoryOptions {
  /** Whether the store keeps tails it has read, as it does by default. */
  readonly warm?: boolean;
}

type OpenOptions = Pick<OpenStoreOptions, 'durability' | 'sessionCacheTtlMs'>;

export interface PlainOptions {
  readonly kind?: StoreKind;
  readonly durability?: 'disk' | 'os';
  readonly sessions?: number;
}

const INDEX_POLL_MS = 50;

/** The session of homes that have only one to speak of. */
export const SESSION = 'bench-0';
/** The session of `sessions` that is too large to be read on the way. */
export const LARGE = 'large';
const WARM_MS = 45_000;
/** Messages the context keeps in a bounded session. */
export const WINDOW = 200;
const FIRST_MS = Date.parse('2025-01-01T00:00:00Z');
const BUILDERS = 16;
const TMPFS = 0x01021994;
/** Longer than the store waits before it syncs transcripts. */
const SETTLED_MS = 1500;

/** A folder that goes with the process: among temporary ones, or in `fallback` where those are kept in memory. */
export function scratchFolder(fallback: string): string {
  const parent = statfsSync(tmpdir()).type === TMPFS ? fallback : tmpdir();
  const folder = mkdtempSync(join(parent, 'reprise-bench-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1));
  return folder;
}

/** Folders with stores in them, made when first asked for, all below one folder. */
export class Homes implements AsyncDisposable {
  readonly folder: string;
  readonly #known: Map<string, Promise<Home>> = new Map();

  constructor(folder: string) {
    this.folder = folder;
  }

  /** A few empty sessions. */
  plain({ kind = 'jsonl', durability = 'disk', sessions = 1 }: PlainOptions = {}): Promise<Home> {
    return this.#once(`plain-${kind}-${durability}-${sessions}`, async (name) => {
      const home = await this.#open(name, kind, { durability });
      for (let i = 0; i < sessions; i++) await createSession(home.store, i);
      return home;
    });
  }

  /** One session of so many messages. Nothing of it is kept in memory unless asked for. */
  history(messages: number, kind: StoreKind = 'jsonl', { warm = false }: HistoryOptions = {}): Promise<Home> {
    const sessionCacheTtlMs = warm ? WARM_MS : 0;
    return this.#once(`history-${messages}-${kind}${warm ? '-warm' : ''}`, async (name) => {
      if (kind === 'jsonl') return this.#write(name, [{ id: SESSION, messages }], { sessionCacheTtlMs });
      const { store } = await this.#open(name, kind, { durability: 'os' });
      await createSession(store, 0);
      await inParallel(messages / 2, () => store.append(SESSION, nextTurn()));
      await store[Symbol.asyncDispose]();
      return this.#open(name, kind, { sessionCacheTtlMs });
    });
  }

  /** So many sessions with one turn each, and one of `large` messages of 2 KB if that is more than none. */
  sessions(count: number, large = 0): Promise<Home> {
    return this.#once(`sessions-${count}-${large}`, (name) => {
      const sessions = Array.from({ length: count }, (_, i) => ({
        id: sessionId(i),
        messages: 2,
        // A minute apart, as conversations are: at one moment all of them would be the newest.
        at: new Date(FIRST_MS + i * 60_000).toISOString(),
      }));
      return this.#write(name, [
        ...sessions,
        ...(large > 0 ? [{ id: LARGE, messages: large, bytes: 2048 }] : []),
      ]);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const home of this.#known.values()) await (await home).store[Symbol.asyncDispose]();
    this.#known.clear();
  }

  #once(name: string, make: (name: string) => Promise<Home>): Promise<Home> {
    const known = this.#known.get(name) ?? make(name);
    this.#known.set(name, known);
    return known;
  }

  /** Transcripts as the store would have left them, taken in by opening it once. */
  async #write(name: string, sessions: readonly SealedSession[], options: OpenOptions = {}): Promise<Home> {
    for (const session of sessions) writeSealedSession(join(this.folder, name), session);
    const { store } = await this.#open(name, 'jsonl', { durability: 'os' });
    await takenIn(store);
    await store[Symbol.asyncDispose]();
    return this.#open(name, 'jsonl', options);
  }

  async #open(name: string, kind: StoreKind, options: OpenOptions = {}): Promise<Home> {
    const home = join(this.folder, name);
    await mkdir(home, { recursive: true });
    const store = await openStore({ kind, home, durability: 'disk', ...options });
    return { folder: home, store, transcript: (id) => transcriptPath(home, id) };
  }
}

export function sessionId(number: number): string {
  return `bench-${number}`;
}

export async function createSession(store: Store, number: number): Promise<void> {
  await store.create({ id: sessionId(number), key: `agent:main:direct:peer-${number}` });
}

/** Compacts the session so that its context is the last messages only. */
export async function boundContext({ store }: Pick<Home, 'store'>): Promise<void> {
  const { lastSeq } = await store.get(SESSION);
  const firstKeptEntryId = entryIdForSeq(lastSeq - WINDOW + 1);
  const summary = 'What was said before, in short.';
  await store.append(SESSION, [{ type: 'compaction', summary, firstKeptEntryId, tokensBefore: 100_000 }]);
  const { entries } = await store.tail(SESSION);
  if (entries.length !== WINDOW + 1) throw new Error(`the window has ${entries.length} entries`);
  await sleep(SETTLED_MS);
}

/** Where the entries of a bounded context stand in the transcript. */
export async function windowBytes({ store, transcript }: Home): Promise<ByteRange> {
  const range = lastLines(transcript(SESSION), WINDOW + 1);
  const { entries } = await store.tail(SESSION);
  const [first] = readAndParse(range) as { readonly id?: unknown }[];
  if (first?.id !== entries[0]?.entry.id) throw new Error('the window stands elsewhere in the transcript');
  return range;
}

export async function inParallel(total: number, run: (number: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < total) await run(next++);
  };
  await Promise.all(Array.from({ length: BUILDERS }, work));
}

/** Until the index of a store has everything. */
export async function indexed(store: Store): Promise<void> {
  for (;;) {
    const { search } = await store.stats({ search: true });
    if (search === undefined || search.done >= search.total) return;
    await sleep(INDEX_POLL_MS);
  }
}
