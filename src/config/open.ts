import { failure } from '../messages/failure.ts';
import type { SessionIndex } from '../store/port/session-index.ts';
import type { Store } from '../store/port/store.ts';
import { editedIndexText, emitWarning } from './edited-indexes.ts';
import { assertKindFits, kindIn, type LocalKind } from './home-stores.ts';

export type StoreKind = LocalKind | 'memory' | 'postgres';

export interface OpenStoreOptions {
  /** Unset: the kind found in the home (`jsonl` if it holds two), and `jsonl` in a new one. */
  readonly kind?: StoreKind;
  /** The folder with all data; not needed for `memory` and `postgres`. */
  readonly home?: string;
  /** For `postgres`: the database address, including the password; docs/stores.md lists its options. */
  readonly url?: string;
  /**
   * `disk`: an acknowledged write survives a power cut. `os`: it survives a killed process. Not for `postgres`, where
   * the server decides.
   */
  readonly durability?: 'disk' | 'os';
  /** A fixed clock that moves one millisecond with each entry; for tests that compare bytes. */
  readonly now?: string;
  /**
   * With less free disk space no turn starts: creating, receiving, leasing and appending without a lease fail with
   * `STORE_FULL`. Default: 64 MiB, or 1 % of a smaller disk. 0 disables the check.
   */
  readonly minFreeBytes?: number;
  /**
   * Whether Ctrl-Z (SIGTSTP) waits for the transaction in progress, so that a stopped process does not block others.
   * For programs that own their process, such as the CLI. Has no effect if the process already handles the signal.
   */
  readonly signals?: boolean;
  /** How long the tail of a session stays in memory after its last use, in ms; 45,000 by default, 0 disables it. */
  readonly sessionCacheTtlMs?: number;
  /** `scan`: no index is built, and searches read all transcripts. Default: `index`, if the store has one. */
  readonly search?: 'index' | 'scan';
  /** Nothing is written, including repairs and maintenance; every write fails with `STORE_READ_ONLY`. */
  readonly readOnly?: boolean;
  /** Receives one text for each thing the owner should do about the home. Default: `process.emitWarning`. */
  readonly onWarning?: (warning: string) => void;
}

/** The only place that names concrete stores. Each is loaded on first use. */
export async function openStore(given: OpenStoreOptions = {}): Promise<Store> {
  const { kind, onWarning = emitWarning, ...options } = given;
  checkNode();
  switch (kind ?? kindIn(homeOf(options))) {
    case 'memory':
      return (await import('../store/memory/open.ts')).openMemoryStore(options);
    case 'sqlite':
      return (await import('../store/sqlite/open.ts')).openSqliteStore({ ...options, home: homeOf(options) });
    case 'jsonl':
      return (await import('../store/jsonl/open.ts')).openJsonlStore({
        ...options,
        home: homeOf(options),
        onEdited: (file) => onWarning(editedIndexText(file)),
      });
    case 'postgres':
      return (await import('../store/postgres/open.ts')).openPostgresStore({
        ...options,
        url: urlOf(options),
      });
  }
}

/** Refuses to create a new store next to the one that a home holds. A migration, which does create one, uses `openStore`. */
export async function openFittingStore(options: OpenStoreOptions): Promise<Store> {
  const { kind, home } = options;
  if (kind !== undefined && home !== undefined) assertKindFits(home, kind);
  return openStore(options);
}

/**
 * Lists sessions without opening a store, for commands that run once. @returns undefined if there is no index or it may
 * be out of date; then use `openStore`.
 */
export async function openIndex(options: {
  readonly kind: StoreKind;
  readonly home: string;
}): Promise<SessionIndex | undefined> {
  const { kind, home } = options;
  if (kind === 'jsonl') return (await import('../store/jsonl/open-index.ts')).openJsonlIndex(home);
  if (kind === 'sqlite') return (await import('../store/sqlite/open-index.ts')).openSqliteIndex(home);
  return undefined;
}

const MIN_NODE = 24;

/** An older Node would fail later with the name of a missing module. Bun and Deno report their own versions. */
function checkNode(): void {
  const { node, bun, deno } = process.versions;
  if (bun !== undefined || deno !== undefined || Number.parseInt(node, 10) >= MIN_NODE) return;
  throw failure('CONFIG_INVALID', 'node.tooOld', { version: node, min: MIN_NODE });
}

function homeOf({ home }: OpenStoreOptions): string {
  if (home !== undefined) return home;
  throw failure('INVALID_INPUT', 'store.noHome');
}

function urlOf({ url }: OpenStoreOptions): string {
  if (url !== undefined) return url;
  throw failure('INVALID_INPUT', 'store.noUrl');
}
