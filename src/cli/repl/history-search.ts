/**
 * Reverse search with Ctrl-R, as in shells: searches typed lines from the newest back; each further Ctrl-R finds the
 * next older match. Cancelling restores the line that was edited before.
 */
export class HistorySearch {
  readonly #entries: readonly string[];
  readonly before: string;
  #wanted: string;
  #at = -1;

  constructor(entries: readonly string[], typed: string) {
    this.#entries = entries;
    this.before = typed;
    this.#wanted = typed;
  }

  get wanted(): string {
    return this.#wanted;
  }

  /** The matching line; undefined if there was no match yet. */
  get found(): string | undefined {
    return this.#entries[this.#at];
  }

  /** @returns false if there is no older match; the current one stays. */
  older(): boolean {
    return this.#look(this.#at + 1);
  }

  /** @returns false if no line contains the text. */
  look(wanted: string): boolean {
    this.#wanted = wanted;
    return wanted === '' || this.#look(0);
  }

  #look(from: number): boolean {
    const at = this.#entries.findIndex((entry, i) => i >= from && entry.includes(this.#wanted));
    if (at !== -1) this.#at = at;
    return at !== -1;
  }
}
