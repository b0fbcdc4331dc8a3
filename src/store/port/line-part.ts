/** Lines of a session by their seqs, both included. */
export interface LineRange {
  readonly from: number;
  readonly to: number;
}

export interface LinePart {
  /** Whole lines, at least one where there is one. */
  readonly bytes: Uint8Array;
  /** The seq behind them; beyond `to` at the end. */
  readonly next: number;
  /** Some lines are not what was sealed and are left out here; from now on the record of the session says so too. */
  readonly isDamaged?: true;
}
