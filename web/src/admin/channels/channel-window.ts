import { batch, type ReadonlySignal, signal } from '@preact/signals';
import type { Conversation as Channel, ConversationLine, ConversationPage } from 'reprise/client';
import { client } from '../../api/api.ts';

const PAGE = 100;
/** Lines loaded on each side of a match. */
const AROUND = PAGE / 2;

interface LinesAsked {
  readonly limit?: number;
  readonly before?: number;
  readonly after?: number;
  readonly q?: string;
  readonly member?: string;
}

/** What to search for in a channel; empty means no search. */
export interface ChannelWish {
  readonly q: string;
  readonly member: string;
}

/** Line numbers of the matches, and the index of the current one. */
export interface Matches {
  readonly numbers: readonly number[];
  readonly at: number;
  /** There are older matches that are not loaded. */
  readonly hasMore: boolean;
}

/** The loaded part of a channel's messages: one contiguous range, at the end or around a match. */
export class ChannelWindow {
  readonly #channel: Channel;
  readonly #lines = signal<readonly ConversationLine[]>([]);
  readonly #hasOlder = signal(false);
  readonly #hasNewer = signal(false);
  readonly #matches = signal<Matches | undefined>(undefined);

  constructor(channel: Channel) {
    this.#channel = channel;
  }

  get lines(): ReadonlySignal<readonly ConversationLine[]> {
    return this.#lines;
  }
  get hasOlder(): ReadonlySignal<boolean> {
    return this.#hasOlder;
  }
  get hasNewer(): ReadonlySignal<boolean> {
    return this.#hasNewer;
  }
  get matches(): ReadonlySignal<Matches | undefined> {
    return this.#matches;
  }

  /** Opens at the newest match, by this member if there is one; at the end if nothing matches. */
  async open({ q, member }: ChannelWish): Promise<void> {
    const found = q === '' ? undefined : await this.#find(q, member);
    const last = found?.data.at(-1);
    if (found === undefined || last === undefined) {
      const { data, hasMore } = await this.#read({});
      batch(() => {
        this.#lines.value = data;
        this.#hasOlder.value = hasMore;
      });
      return;
    }
    const numbers = found.data.map(({ number }) => number);
    await this.#showAround({ numbers, at: numbers.length - 1, hasMore: found.hasMore });
  }

  /** Moves to the previous or next match. */
  async step(by: -1 | 1): Promise<void> {
    const matches = this.#matches.value;
    const at = (matches?.at ?? 0) + by;
    if (matches?.numbers[at] !== undefined) await this.#showAround({ ...matches, at });
  }

  async loadOlder(): Promise<void> {
    const [first] = this.#lines.value;
    const { data, hasMore } = await this.#read({ before: first?.number ?? 1 });
    // A second call loaded the same page, or the user moved to another match.
    if (this.#lines.value[0] !== first) return;
    batch(() => {
      this.#lines.value = [...data, ...this.#lines.value];
      this.#hasOlder.value = hasMore;
    });
  }

  async loadNewer(): Promise<void> {
    const last = this.#lines.value.at(-1);
    const { data, hasMore } = await this.#read({ after: last?.number ?? 0 });
    if (this.#lines.value.at(-1) !== last) return;
    batch(() => {
      this.#lines.value = [...this.#lines.value, ...data];
      this.#hasNewer.value = hasMore;
    });
  }

  async #find(q: string, member: string): Promise<ConversationPage> {
    // A chat is listed if the member wrote in it and it contains the words, even if another member wrote them.
    const own = member === '' ? undefined : await this.#read({ q, member });
    return own !== undefined && own.data.length > 0 ? own : this.#read({ q });
  }

  async #showAround(matches: Matches): Promise<void> {
    const number = matches.numbers[matches.at] ?? 0;
    const [older, newer] = await Promise.all([
      this.#read({ before: number + 1, limit: AROUND }),
      this.#read({ after: number, limit: AROUND }),
    ]);
    batch(() => {
      this.#lines.value = [...older.data, ...newer.data];
      this.#hasOlder.value = older.hasMore;
      this.#hasNewer.value = newer.hasMore;
      this.#matches.value = matches;
    });
  }

  #read(asked: LinesAsked): Promise<ConversationPage> {
    const { agentId, channelType, channelId } = this.#channel;
    return client.value.conversation(agentId, channelId, { limit: PAGE, channelType, ...asked });
  }
}
