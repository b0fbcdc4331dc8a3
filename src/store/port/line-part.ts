/** A range of lines of one session by seq; both ends are included. */
export interface LineRange {
  readonly from: number;
  readonly to: number;
}

export interface LinePart {
  /** Whole lines; at least one, unless no line is left. */
  readonly bytes: Uint8Array;
  /** The seq after the last line in `bytes`; greater than `to` at the end of the range. */
  readonly next: number;
  /**
   * Set if lines in the range do not match their seals. They are left out, and the session's record now reports the
   * damage.
   */
  readonly isDamaged?: true;
}
