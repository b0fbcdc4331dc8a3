import { EPOCH_JUMP } from '../../rules/epoch-jump.ts';

/** Of what a transaction is told of the server, the first part: the number of the history it writes, in hexadecimal. */
const DIGITS = 8;

/** The same in SQL, for looks; null where the server is a replica and writes none. */
export const TIMELINE: string = `CASE WHEN NOT pg_is_in_recovery()
  THEN substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, ${DIGITS}) END`;

/**
 * How many epochs nobody is granted in this history: those a server before it may have granted without a replica knowing.
 * So no epoch is ever granted twice, and whoever holds one of a lost history is fenced like any other.
 */
export function skippedEpochs(life: string): number {
  return (Number.parseInt(life.slice(0, DIGITS), 16) - 1) * EPOCH_JUMP;
}

/**
 * Which history the server writes. A replica that takes the place of its server begins another one, and what it had not
 * got is gone: the same numbers are then given to other lines, and nothing that was read before may be believed by them.
 */
export class ServerTimeline {
  readonly #onChange: (() => void)[] = [];
  #known: string | undefined;

  onChange(listener: () => void): void {
    this.#onChange.push(listener);
  }

  /** What a transaction was told when it began, or a look at `TIMELINE`. */
  note(life: string | null): void {
    if (life === null) return;
    const timeline = life.slice(0, DIGITS);
    if (timeline === this.#known) return;
    if (this.#known !== undefined) for (const listener of this.#onChange) listener();
    this.#known = timeline;
  }
}
