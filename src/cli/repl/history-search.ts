/**
 * Ctrl-R, as shells have it: what is typed is looked for from the newest line back, each further Ctrl-R goes to the next
 * older one. What stood there when it began comes back where it is given up.
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

  /** The line it stands at; undefined before it has found one. */
  get found(): string | undefined {
    return this.#entries[this.#at];
  }

  /** False: there is none that is older, and it stays where it is. */
  older(): boolean {
    return this.#look(this.#at + 1);
  }

  /** False: no line holds that. */
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
