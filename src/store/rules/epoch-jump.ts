/** A writer that used a lost index may have had any epoch up to this far above the epochs in the file. */
export const EPOCH_JUMP = 1_000_000;
