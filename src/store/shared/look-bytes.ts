/** What one look reads: short enough to let others be answered soon, long enough to be worth a look. */
export const LOOK_BYTES: number = 1024 * 1024;
