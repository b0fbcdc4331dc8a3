import type { Frame } from './frame.ts';

export interface ReadEvents {
  readonly frames: readonly Frame[];
  /** How much was told up to their end. */
  readonly told: number;
}

/** The last answer a log gave, for all others who ask the same: one list for them, so that it is encoded once. */
export class LatestRead {
  #asked: readonly number[] = [];
  #answer: ReadEvents | undefined;

  find(asked: readonly number[], read: () => ReadEvents): ReadEvents {
    const isSame = this.#asked.every((value, i) => value === asked[i]);
    if (this.#answer !== undefined && isSame) return this.#answer;
    this.#asked = asked;
    this.#answer = read();
    return this.#answer;
  }

  forget(): void {
    this.#answer = undefined;
  }
}
