import type { Frame } from './frame.ts';

export interface ReadEvents {
  readonly frames: readonly Frame[];
  /** Total size of the log's events up to the end of these frames. */
  readonly told: number;
}

/** Caches the last read of a log, so that clients at the same position share one list, which is encoded once. */
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
