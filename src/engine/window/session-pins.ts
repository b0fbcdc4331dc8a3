import { PIN_KINDS, type Pin, pinsInForce } from '../../compaction/pins.ts';
import { estimateTextTokens } from '../../context/estimate.ts';
import { failure } from '../../messages/failure.ts';
import type { Store } from '../../store/port/store.ts';
import { contentText } from '../../transcript/content.ts';
import type { Entry } from '../../transcript/entry.ts';
import { isObject } from '../../transcript/json.ts';
import { readHistory } from '../history/read-history.ts';
import { earlierKey, type Keyed, pinsTold, requestKey } from '../intake/keyed-request.ts';

export interface SessionPinsOptions {
  readonly store: Store;
  readonly sessionId: string;
  /** Token budget of a request. */
  readonly budget: () => Promise<number>;
}

/** Pins are part of every request, so their share is limited. */
const MAX_PIN_SHARE = 0.25;

/** The entries that a session keeps in every later context, word for word. */
export class SessionPins {
  readonly #options: SessionPinsOptions;

  constructor(options: SessionPinsOptions) {
    this.#options = options;
  }

  async list(): Promise<readonly Pin[]> {
    const { store, sessionId } = this.#options;
    const { entries } = await store.tail(sessionId, { only: PIN_KINDS });
    return pinsInForce(entries.map(({ entry }) => entry as Entry));
  }

  async add(entryId: string, keyed: Keyed): Promise<readonly Pin[]> {
    const all = await this.#all();
    const told = pinsTold(all, 'pin', keyed, [entryId]);
    if (told !== undefined) return told;
    const entry = all.find(({ id }) => id === entryId);
    if (entry === undefined)
      throw failure('NOT_FOUND', 'entry.missing', { entry: entryId }, { details: { entry: entryId } });
    const { message, content } = entry;
    const text = contentText(isObject(message) ? message['content'] : content);
    if (text === '') throw failure('INVALID_INPUT', 'entry.noText', { entry: entryId });
    const others = (await this.list()).filter((pin) => pin.entryId !== entryId);
    await this.#assertRoom([...others, { entryId, text }]);
    return this.#write([{ entryId, text }], keyed);
  }

  /** Several ids are unpinned in one step. */
  async remove(ids: readonly string[], keyed: Keyed): Promise<readonly Pin[]> {
    const told =
      earlierKey(keyed) === undefined ? undefined : pinsTold(await this.#all(), 'unpin', keyed, ids);
    const gone = ids.map((entryId) => ({ entryId, text: '' }));
    return told ?? this.#write(gone, keyed);
  }

  async #assertRoom(pins: readonly Pin[]): Promise<void> {
    const budget = await this.#options.budget();
    const tokens = pins.reduce((sum, pin) => sum + estimateTextTokens(pin.text), 0);
    const max = Math.floor(budget * MAX_PIN_SHARE);
    if (tokens <= max) return;
    throw failure(
      'LIMIT_EXCEEDED',
      'pins.tooLarge',
      { tokens, max },
      { details: { limit: 'pins', tokens, max } },
    );
  }

  async #write(pins: readonly Pin[], { idempotencyKey }: Keyed): Promise<readonly Pin[]> {
    const { store, sessionId } = this.#options;
    const entries = pins.map((pin) => ({ type: 'custom', customType: 'reprise.pin', data: { ...pin } }));
    const keyed = idempotencyKey === undefined ? {} : { key: requestKey(idempotencyKey) };
    await store.append(sessionId, entries, keyed);
    return this.list();
  }

  #all(): Promise<Entry[]> {
    return readHistory(this.#options.store, this.#options.sessionId);
  }
}
