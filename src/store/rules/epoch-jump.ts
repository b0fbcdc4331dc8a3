/** Whoever wrote with an index we no longer have may have had any epoch up to this far above the file's. */
export const EPOCH_JUMP = 1_000_000;
