import { failure } from '../messages/failure.ts';
import type { SessionIndex } from '../store/port/session-index.ts';
import type { Store } from '../store/port/store.ts';
import { editedIndexText, emitWarning } from './edited-indexes.ts';
import { assertKindFits, kindIn, type LocalKind } from './home-stores.ts';

export type StoreKind = LocalKind | 'memory' | 'postgres';

export interface OpenStoreOptions {
  /** Unset: the one the home holds, and `jsonl` in a new one; of two, `jsonl`. */
  readonly kind?: StoreKind;
  /** The folder everything lives in; not needed for `memory` and `postgres`. */
  readonly home?: string;
  /** For `postgres`: where its database is; docs/stores.md has the options it may carry. Holds the password. */
  readonly url?: string;
  /**
   * `disk`: an acknowledged write survives a power cut. `os`: it survives a killed process. Not for `postgres`, where
   * the server decides.
   */
  readonly durability?: 'disk' | 'os';
  /** A fixed clock that moves one millisecond with each entry; for tests that compare bytes. */
  readonly now?: string;
  /**
   * With less free on the disk no turn begins: creating, receiving, leasing and appending without a lease are
   * refused with `STORE_FULL`. Unset: 64 MiB, or 1 % of a smaller disk. 0: never refuse, until the disk does.
   */
  readonly minFreeBytes?: number;
  /**
   * Whether Ctrl-Z (SIGTSTP) waits for the transaction in progress, so that a stopped process locks nobody out.
   * For programs that own their process; the commands of this package do. Not where somebody listens already.
   */
  readonly signals?: boolean;
  /** How long the tail of a session stays in memory after its last use, in ms; by default 45,000, and 0 keeps none. */
  readonly sessionCacheTtlMs?: number;
  /** `scan`: no index is made, and a search reads everything. By default `index`, where the store has one. */
  readonly search?: 'index' | 'scan';
  /** Nothing is written, not even what a store puts in order by itself; every write is `STORE_READ_ONLY`. */
  readonly readOnly?: boolean;
  /** Receives what the owner has to do about the home, one text each. Unset: `process.emitWarning`. */
  readonly onWarning?: (warning: string) => void;
}

/** The only place that names concrete stores. Backends are loaded when asked for. */
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

/** For whoever goes on talking: never a new store beside the one a home holds. A copy into that home is one. */
export async function openFittingStore(options: OpenStoreOptions): Promise<Store> {
  const { kind, home } = options;
  if (kind !== undefined && home !== undefined) assertKindFits(home, kind);
  return openStore(options);
}

/**
 * Lists of sessions without a store, for a program that asks and ends. Undefined where the index cannot be relied on by
 * a look, or there is none: then `openStore` has the answer.
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

/** An older Node fails later, with the name of a module it does not have. Bun and Deno report versions of their own. */
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
