import { EPOCH_JUMP } from '../../rules/epoch-jump.ts';

/** The first digits of the WAL file name are the timeline in hexadecimal. */
const DIGITS = 8;

/** The timeline in SQL; null on a replica, which writes none. */
export const TIMELINE: string = `CASE WHEN NOT pg_is_in_recovery()
  THEN substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, ${DIGITS}) END`;

/**
 * The number of epochs that are skipped on this timeline: a previous server may have granted them without its replica
 * knowing. So no epoch is granted twice, and a holder from a lost timeline is fenced like any other.
 */
export function skippedEpochs(life: string): number {
  return (Number.parseInt(life.slice(0, DIGITS), 16) - 1) * EPOCH_JUMP;
}

/**
 * The timeline that the server writes. A replica that is promoted starts a new timeline, and transactions it had not
 * received are lost. Their numbers are then assigned to other lines, so nothing that was read before may be trusted
 * by its numbers.
 */
export class ServerTimeline {
  readonly #onChange: (() => void)[] = [];
  #known: string | undefined;

  onChange(listener: () => void): void {
    this.#onChange.push(listener);
  }

  /** Records the timeline that a transaction or a query of `TIMELINE` returned. */
  note(life: string | null): void {
    if (life === null) return;
    const timeline = life.slice(0, DIGITS);
    if (timeline === this.#known) return;
    if (this.#known !== undefined) for (const listener of this.#onChange) listener();
    this.#known = timeline;
  }
}
