import type { AppendOptions, AppendReceipt, EntryPage, NewEntry, Store } from '../../store/port/store.ts';
import type { EndedTurn, TurnEndOptions, TurnRef, Turns } from '../../store/port/turns.ts';
import { callsOf } from '../../transcript/content.ts';
import { type Entry, isSideEntry } from '../../transcript/entry.ts';
import { entryIdForSeq } from '../../transcript/entry-id.ts';
import { pathEntries } from '../../transcript/tree.ts';
import type { Profile } from '../agents/profiles.ts';
import { entriesIn } from '../history/read-history.ts';
import type { Tool } from '../tools/tool.ts';
import { withoutTools } from './pair-entries.ts';
import { callMark, isStored, isTurnEnd, lastTurnEnd } from './recovery.ts';

/** What a turn reads and writes its session through. */
export type TurnStore = Pick<Store, 'append' | 'tail' | 'get' | 'blob' | 'notes'> & {
  readonly turns: Pick<Turns, 'end'>;
};

export interface TurnStoreOptions {
  readonly store: Store;
  readonly sessionId: string;
  readonly profile: Profile;
  readonly inboxId: string;
  /** A runner has tried before: what it left behind is looked for. */
  readonly isRetry: boolean;
  readonly tools: ReadonlyMap<string, Tool>;
  /** What the turn says is stored from now on; not called where the store itself is used. */
  readonly onStored: () => void;
}

/** The store itself, unless the session's profile writes a turn only when it has ended. */
export function openTurnStore(options: TurnStoreOptions): TurnStore {
  const { store, profile } = options;
  return writesAtOnce(profile) ? store : new PendingTurn(options);
}

export function writesAtOnce({ writes, tools }: Profile): boolean {
  return writes === 'immediate' && tools === 'full';
}

interface Pending {
  readonly entry: NewEntry;
  /** No id of a stored entry looks like it. */
  readonly id: string;
}

/**
 * Holds what a turn says until it ends, then writes it in one append: a history has both sides of an exchange or
 * none. Whoever reads through it sees what is held behind what is stored. The words of the user are safe meanwhile:
 * the inbox has them, and runs them again after a crash.
 */
class PendingTurn implements TurnStore {
  readonly #options: TurnStoreOptions;
  #pending: Pending[] = [];
  #held: AppendOptions[] = [];
  /** So many of the pending entries stand in a summary by now: still to be written, no longer to be told. */
  #summarised = 0;
  #count = 0;
  #isMarked = false;
  /** The try before wrote at once, under another profile: then so does this one. */
  #isStored = false;

  constructor(options: TurnStoreOptions) {
    this.#options = options;
  }

  get: Store['get'] = (id) => this.#options.store.get(id);
  blob: Store['blob'] = (id, hash) => this.#options.store.blob(id, hash);

  readonly turns: Pick<Turns, 'end'> = {
    end: (turn, entries, options) =>
      this.#isStored
        ? this.#options.store.turns.end(turn, entries, options)
        : this.#end(turn, entries, options),
  };

  get notes(): Store['notes'] {
    return this.#options.store.notes;
  }

  /**
   * A receipt of nothing names the empty range behind what is stored; of a second try, behind the turn before, where
   * it looks for what the first one left.
   */
  async append(
    id: string,
    entries: readonly NewEntry[],
    options: AppendOptions = {},
  ): Promise<AppendReceipt> {
    const { store, isRetry, inboxId, onStored } = this.#options;
    if (this.#isStored) return store.append(id, entries, options);
    if (entries.some(({ type }) => type === 'compaction')) return this.#compact(id, entries, options);
    if (entries.some((entry) => isTurnEnd(entry, inboxId))) return this.#land(id, entries, options);
    const lastSeq = isRetry ? await lastTurnEnd(store, id, inboxId) : (await store.get(id)).lastSeq;
    if (isRetry && options.key !== undefined && (await isStored(store, id, lastSeq, options.key))) {
      this.#isStored = true;
      onStored();
      return store.append(id, entries, options);
    }
    await this.#mark(id, entries, options);
    for (const entry of entries) this.#pending.push({ entry, id: `pending-${++this.#count}` });
    this.#held.push(options);
    return { firstSeq: lastSeq + 1, lastSeq };
  }

  async tail(id: string): Promise<EntryPage> {
    const page = await this.#options.store.tail(id);
    let parentId = pathEntries(entriesIn(page.entries)).at(-1)?.id ?? null;
    let seq = page.lastSeq;
    const held = this.#pending.slice(this.#summarised).map(({ entry, id: own }) => {
      const told: Entry = { ...entry, id: own, parentId, timestamp: '' };
      if (!isSideEntry(told)) parentId = own;
      return { seq: ++seq, entry: told };
    });
    return { ...page, entries: [...page.entries, ...held], lastSeq: seq };
  }

  /** Tools with side effects never run twice (I-29), so that they were called is written down although they are not. */
  async #mark(id: string, entries: readonly NewEntry[], { epoch }: AppendOptions): Promise<void> {
    const { store, tools, inboxId } = this.#options;
    const names = entries.flatMap((entry) => callsOf(entry as NewEntry & Entry).map(({ name }) => name));
    const isHarmless = names.every((name) => tools.get(name)?.safe === true);
    if (isHarmless || this.#isMarked) return;
    this.#isMarked = true;
    await store.append(id, [callMark(inboxId, names)], epoch === undefined ? {} : { epoch });
  }

  /** Written at once, before what is pending. What it keeps of that comes behind it anyway, so it names itself. */
  async #compact(id: string, entries: readonly NewEntry[], options: AppendOptions): Promise<AppendReceipt> {
    const { store } = this.#options;
    const { lastSeq } = await store.get(id);
    let summarised = this.#summarised;
    const written = entries.map((entry, i) => {
      const kept = this.#pending.findIndex(({ id: own }) => own === entry['firstKeptEntryId']);
      if (entry.type !== 'compaction' || kept === -1) return entry;
      summarised = kept;
      return { ...entry, firstKeptEntryId: entryIdForSeq(lastSeq + 1 + i) };
    });
    const receipt = await store.append(id, written, options);
    this.#summarised = summarised;
    return receipt;
  }

  async #land(id: string, entries: readonly NewEntry[], options: AppendOptions): Promise<AppendReceipt> {
    const { store } = this.#options;
    const { lastSeq } = await store.append(id, this.#all(entries), merged([...this.#held, options]));
    return this.#landed(entries, lastSeq);
  }

  async #end(turn: TurnRef, entries: readonly NewEntry[], options: TurnEndOptions): Promise<EndedTurn> {
    const { store } = this.#options;
    // Those that joined end in the same step, and only the row of the lead is asked about.
    const { epoch: _epoch, expectedLeaf: _leaf, ...rest } = merged([...this.#held, options]);
    const { release } = options;
    const end = await store.turns.end(turn, this.#all(entries), { ...rest, release });
    return { ...end, ...this.#landed(entries, end.lastSeq) };
  }

  /** What is pending with the last entries of the turn. */
  #all(entries: readonly NewEntry[]): readonly NewEntry[] {
    const held = new Set(this.#pending.map(({ id: own }) => own));
    // An edit of something that is never stored has nothing to say.
    const said = this.#pending
      .map(({ entry }) => entry)
      .filter(({ targetId }) => !held.has(String(targetId)));
    return this.#options.profile.tools === 'none' ? withoutTools(said, entries) : [...said, ...entries];
  }

  #landed(entries: readonly NewEntry[], lastSeq: number): AppendReceipt {
    this.#options.onStored();
    this.#pending = [];
    this.#held = [];
    return { firstSeq: Math.max(1, lastSeq - entries.length + 1), lastSeq };
  }
}

/** Of several appends that become one: lists (such as rows to settle) are joined. The keys name parts of it, so none. */
function merged(all: readonly AppendOptions[]): AppendOptions {
  const result: Record<string, unknown> = {};
  for (const [name, value] of all.flatMap(({ key: _key, ...options }) => Object.entries(options))) {
    const before = result[name];
    result[name] = Array.isArray(before) && Array.isArray(value) ? [...before, ...value] : value;
  }
  return result;
}
